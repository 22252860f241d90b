//! Sparse × dense products: the inner loop of everything.

use crate::csr::{CsrRef, TransposeRef};
use crate::matrix::{MatMut, MatRef};

/// out ← diag(scale) A z: every row of `out` is a weighted sum of rows of `z`.
pub fn gather(a: CsrRef<'_>, scale: Option<&[f32]>, z: MatRef<'_>, mut out: MatMut<'_>) {
    for i in 0..a.rows() {
        let row = out.row_mut(i);
        row.fill(0.0);
        for (id, v) in a.entries(i) {
            row.iter_mut().zip(z.row(id)).for_each(|(o, z)| *o = v.mul_add(*z, *o));
        }
        if let Some(scale) = scale {
            row.iter_mut().for_each(|o| *o *= scale[i]);
        }
    }
}

/// out ← out + Aᵀ v, from the stored transpose of A.
pub fn gather_transposed(a: TransposeRef<'_>, v: MatRef<'_>, mut out: MatMut<'_>) {
    for (i, id) in a.ids.iter().enumerate() {
        let (rows, values) = a.column(i);
        for (j, r) in rows.iter().enumerate() {
            let value = values.map_or(1.0, |v| v[j]);
            let source = v.row(*r as usize);
            out.row_mut(*id as usize).iter_mut().zip(source).for_each(|(o, s)| *o = value.mul_add(*s, *o));
        }
    }
}

/// out ← out + Aᵀ diag(w) B z for one chunk of rows.
pub fn cross_chunk(
    a: TransposeRef<'_>,
    b: CsrRef<'_>,
    weights: Option<&[f32]>,
    z: MatRef<'_>,
    scratch: &mut crate::Matrix,
    mut out: MatMut<'_>,
) {
    let _ = scratch;
    let mut t = crate::Matrix::zeros(b.rows(), z.cols());
    gather(b, weights, z, t.view_mut());
    gather_transposed(a, t.view(), out.reborrow());
}
