//! [`BiasCenter`]: a constant feature or the mean shift, as a rank-one correction of any [`Examples`].
//!
//! Both would make sparse data dense. Instead their share of a product is computed from the column sums alone:
//! with m_A = Aᵀw the weighted column sums of A,
//!
//! - a constant feature adds a row and a column to the products: Aᵀ W 1 = m_A;
//! - centring subtracts a rank-one matrix: (A − 1āᵀ)ᵀ W (B − 1b̄ᵀ) = Aᵀ W B − m_A m_Bᵀ / Σw.

use rayon::prelude::*;

use super::{ActiveLabels, Examples, Moments, Shape, Side};
use crate::Result;
use crate::linalg::matrix::{MatMut, MatRef};

/// Rows whose share of a sum is added up before it joins the others: fixed, so that sums do not depend on threads.
const BLOCK: usize = 4096;

/// The change to the examples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Correction {
    /// A feature that is 1 in every example is appended.
    Bias,
    /// The column means of both sides are subtracted.
    Center,
}

/// Examples with a constant feature, or with the means of all columns subtracted.
///
/// ```
/// use rembrandt::data::{Dataset, Rows};
/// use rembrandt::{Examples, Side};
///
/// let mut rows = Rows::new();
/// for value in [1.0, 3.0] {
///     rows.x.push(0, value);
///     rows.x.end_row();
///     rows.y.end_row();
/// }
/// let data = Dataset::from_rows(&rows, 1, 1)?;
/// assert_eq!(data.view().bias()?.moments(Side::X)?.sum, [4.0, 2.0]);
/// assert_eq!(data.view().centered()?.moments(Side::X)?.square, [2.0]);
/// # Ok::<(), rembrandt::Error>(())
/// ```
pub struct BiasCenter<E> {
    inner: E,
    correction: Correction,
    x: Moments,
    y: Moments,
}

impl<E: Examples> BiasCenter<E> {
    /// Appends a feature that is 1 in every example.
    pub fn bias(inner: E) -> Result<BiasCenter<E>> {
        BiasCenter::new(inner, Correction::Bias)
    }

    /// Subtracts the means of the columns, of features and labels both.
    pub fn centered(inner: E) -> Result<BiasCenter<E>> {
        BiasCenter::new(inner, Correction::Center)
    }

    fn new(inner: E, correction: Correction) -> Result<BiasCenter<E>> {
        Ok(BiasCenter { correction, x: inner.moments(Side::X)?, y: inner.moments(Side::Y)?, inner })
    }

    fn side(&self, side: Side) -> &Moments {
        match side {
            Side::X => &self.x,
            Side::Y => &self.y,
        }
    }
}

impl<E: Examples> Examples for BiasCenter<E> {
    fn shape(&self) -> Shape {
        let shape = self.inner.shape();
        Shape { d: shape.d + usize::from(self.correction == Correction::Bias), ..shape }
    }

    fn cross(&self, a: Side, b: Side, z: MatRef<'_>, mut out: MatMut<'_>) -> Result<()> {
        let inner = self.inner.shape();
        let (a_width, b_width) = (inner.width(a), inner.width(b));
        let z_inner = MatRef::new(b_width, z.cols(), z.stride(), z.as_slice());
        let weight = self.x.weight;
        // Shared by both corrections: m_Bᵀ z.
        let mut sums = weighted_sum(&self.side(b).sum, z_inner);
        let (out_inner, mut extra) = out.reborrow().split_rows_at(a_width);
        let mut out_inner = out_inner;
        self.inner.cross(a, b, z_inner, out_inner.reborrow())?;
        match self.correction {
            Correction::Bias => {
                let constant: Vec<f64> = match b {
                    Side::X => z.row(b_width).iter().map(|v| f64::from(*v)).collect(),
                    Side::Y => vec![0.0; z.cols()],
                };
                if b == Side::X {
                    add_outer(out_inner, &self.side(a).sum, &constant);
                }
                if a == Side::X {
                    sums.iter_mut().zip(&constant).for_each(|(s, c)| *s += weight * c);
                    extra.row_mut(0).iter_mut().zip(&sums).for_each(|(o, s)| *o = *s as f32);
                }
            }
            Correction::Center => {
                let scale = if weight > 0.0 { -1.0 / weight } else { 0.0 };
                sums.iter_mut().for_each(|s| *s *= scale);
                add_outer(out_inner, &self.side(a).sum, &sums);
            }
        }
        Ok(())
    }

    fn squares(&self, z: MatRef<'_>) -> Result<Vec<f64>> {
        let d = self.inner.shape().d;
        let z_inner = MatRef::new(d, z.cols(), z.stride(), z.as_slice());
        let (weight, sums) = (self.x.weight, weighted_sum(&self.x.sum, z_inner));
        let mut squares = self.inner.squares(z_inner)?;
        for (j, (square, sum)) in squares.iter_mut().zip(sums).enumerate() {
            match self.correction {
                // Σw·(xᵀz + t)², with t what z has for the constant.
                Correction::Bias => {
                    let t = f64::from(z.row(d)[j]);
                    *square += t * (2.0 * sum + weight * t);
                }
                // Rounding may leave a combination that is constant with a variance just below zero.
                Correction::Center if weight > 0.0 => *square = (*square - sum * sum / weight).max(0.0),
                Correction::Center => {}
            }
        }
        Ok(squares)
    }

    fn moments(&self, side: Side) -> Result<Moments> {
        let mut moments = self.side(side).clone();
        match self.correction {
            Correction::Bias if side == Side::X => {
                moments.sum.push(moments.weight);
                moments.square.push(moments.weight);
            }
            Correction::Bias => {}
            Correction::Center => {
                let weight = moments.weight;
                for (sum, square) in moments.sum.iter_mut().zip(&mut moments.square) {
                    if weight > 0.0 {
                        // Rounding may leave a constant column with a variance just below zero.
                        *square = (*square - *sum * *sum / weight).max(0.0);
                    }
                    *sum = 0.0;
                }
            }
        }
        Ok(moments)
    }

    /// Those of the examples: neither correction makes anything of a column of zeros.
    fn active_labels(&self) -> Result<Option<ActiveLabels>> {
        self.inner.active_labels()
    }
}

/// Σ_i m_i z_i over the rows of z, in `f64` and in a fixed order.
pub(crate) fn weighted_sum(m: &[f64], z: MatRef<'_>) -> Vec<f64> {
    let blocks: Vec<Vec<f64>> = m
        .par_chunks(BLOCK)
        .enumerate()
        .map(|(block, m)| {
            let mut sums = vec![0.0; z.cols()];
            for (i, m) in m.iter().enumerate() {
                let row = z.row(block * BLOCK + i);
                sums.iter_mut().zip(row).for_each(|(s, v)| *s += m * f64::from(*v));
            }
            sums
        })
        .collect();
    let mut total = vec![0.0; z.cols()];
    blocks.iter().for_each(|block| total.iter_mut().zip(block).for_each(|(t, b)| *t += b));
    total
}

/// out ← out + m vᵀ.
fn add_outer(mut out: MatMut<'_>, m: &[f64], v: &[f64]) {
    let (stride, cols) = (out.stride(), out.cols());
    if cols == 0 {
        return;
    }
    out.as_mut_slice().par_chunks_mut(stride).zip(m).for_each(|(row, m)| {
        row[..cols].iter_mut().zip(v).for_each(|(o, v)| *o = (f64::from(*o) + m * v) as f32);
    });
}
