//! Small dense problems and their exact answers.
#![allow(dead_code)]

use faer::linalg::solvers::Solve;
use faer::{Mat, Side};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use rembrandt::Matrix;
use rembrandt::data::{Dataset, Rows};
use rembrandt::linalg::csr::Csr;

/// A generator of standard normals.
pub fn rng_normal(seed: u64) -> impl FnMut() -> f64 {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut uniform = move || (f64::from(rng.next_u32()) + 0.5) / 4_294_967_296.0;
    move || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
}

/// X, Y and weights, written out.
pub struct Problem {
    pub n: usize,
    pub d: usize,
    pub c: usize,
    pub x: Mat<f64>,
    pub y: Mat<f64>,
    pub weights: Option<Vec<f32>>,
}

impl Problem {
    pub fn new(
        n: usize,
        d: usize,
        c: usize,
        mut x: impl FnMut(usize, usize) -> f64,
        mut y: impl FnMut(usize, usize) -> f64,
    ) -> Problem {
        // Stored numbers are f32: the oracle sees the same numbers.
        let x = Mat::from_fn(n, d, |i, j| f64::from(x(i, j) as f32));
        let y = Mat::from_fn(n, c, |i, j| f64::from(y(i, j) as f32));
        Problem { n, d, c, x, y, weights: None }
    }

    pub fn rows(&self) -> Rows {
        let fill = |m: &Mat<f64>| {
            let mut csr = Csr::new(false);
            for i in 0..m.nrows() {
                (0..m.ncols()).filter(|j| m[(i, *j)] != 0.0).for_each(|j| csr.push(j as u32, m[(i, j)] as f32));
                csr.end_row();
            }
            csr
        };
        Rows { x: fill(&self.x), y: fill(&self.y), weights: self.weights.clone() }
    }

    pub fn dataset(&self) -> Dataset {
        Dataset::from_rows(&self.rows(), self.d, self.c).unwrap()
    }

    fn weight(&self, i: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |w| f64::from(w[i]))
    }

    /// trace(XᵀWX).
    pub fn trace(&self) -> f64 {
        (0..self.n).map(|i| self.weight(i) * (0..self.d).map(|j| self.x[(i, j)].powi(2)).sum::<f64>()).sum()
    }

    pub fn centred(&self) -> Problem {
        let centre = |m: &Mat<f64>| {
            let means: Vec<f64> = (0..m.ncols()).map(|j| m.col(j).iter().sum::<f64>() / m.nrows() as f64).collect();
            move |i: usize, j: usize, m: &Mat<f64>| m[(i, j)] - means[j]
        };
        let (x, y) = (centre(&self.x), centre(&self.y));
        Problem::new(self.n, self.d, self.c, |i, j| x(i, j, &self.x), |i, j| y(i, j, &self.y))
    }

    pub fn with_constant(&self) -> Problem {
        let x = |i, j| if j < self.d { self.x[(i, j)] } else { 1.0 };
        Problem::new(self.n, self.d + 1, self.c, x, |i, j| self.y[(i, j)])
    }

    pub fn scaled(&self, factor: f64) -> Problem {
        Problem::new(self.n, self.d, self.c, |i, j| factor * self.x[(i, j)], |i, j| self.y[(i, j)])
    }

    /// Label l becomes label order[l].
    pub fn with_labels(&self, order: &[usize]) -> Problem {
        let mut inverse = vec![0; self.c];
        order.iter().enumerate().for_each(|(l, to)| inverse[*to] = l);
        Problem::new(self.n, self.d, self.c, |i, j| self.x[(i, j)], |i, j| self.y[(i, inverse[j])])
    }

    /// Rows as often as their weights say.
    pub fn repeated(&self) -> Problem {
        let rows: Vec<usize> = (0..self.n).flat_map(|i| std::iter::repeat_n(i, self.weight(i) as usize)).collect();
        Problem::new(rows.len(), self.d, self.c, |i, j| self.x[(rows[i], j)], |i, j| self.y[(rows[i], j)])
    }

    /// ‖(XᵀWX + ρI)P − XᵀWYE‖ / ‖XᵀWYE‖.
    pub fn normal_residual(&self, labels: &Matrix, projection: &Matrix, rho: f64) -> f64 {
        let dense = |m: &Matrix| Mat::from_fn(m.rows(), m.cols(), |i, j| f64::from(m.row(i)[j]));
        let (e, p) = (dense(labels), dense(projection));
        let right = self.x.transpose() * (&self.y * &e);
        let left = self.x.transpose() * (&self.x * &p) + faer::Scale(rho) * &p;
        (&left - &right).norm_l2() / right.norm_l2()
    }
}

/// M = TᵀT with T = L⁻¹ XᵀWY and LLᵀ = XᵀWX + diag(ridge).
pub struct Oracle {
    m: Mat<f64>,
    /// Largest first.
    values: Vec<f64>,
    vectors: Mat<f64>,
}

pub fn oracle(problem: &Problem, ridge: &[f64]) -> Oracle {
    let wx = Mat::from_fn(problem.n, problem.d, |i, j| problem.weight(i) * problem.x[(i, j)]);
    let mut a = wx.transpose() * &problem.x;
    ridge.iter().enumerate().for_each(|(j, r)| a[(j, j)] += r);
    let b = wx.transpose() * &problem.y;
    Oracle::new(&a, &b)
}

/// The same from XᵀX and XᵀY.
pub fn oracle_of(xx: &Matrix, xy: &Matrix, rho: f64) -> Oracle {
    let a = Mat::from_fn(xx.rows(), xx.rows(), |i, j| f64::from(xx.row(i)[j]) + if i == j { rho } else { 0.0 });
    Oracle::new(&a, &Mat::from_fn(xy.rows(), xy.cols(), |i, j| f64::from(xy.row(i)[j])))
}

/// Without a ridge: M = TᵀT with T = UᵀY and U the left singular vectors of X.
pub fn oracle_without_ridge(problem: &Problem) -> Oracle {
    let svd = problem.x.thin_svd().unwrap();
    let t = svd.U().transpose() * &problem.y;
    let svd = t.thin_svd().unwrap();
    let values = svd.S().column_vector().iter().map(|s| s * s).collect();
    Oracle { m: t.transpose() * &t, values, vectors: svd.V().to_owned() }
}

impl Oracle {
    fn new(a: &Mat<f64>, b: &Mat<f64>) -> Oracle {
        let m = b.transpose() * a.llt(Side::Lower).unwrap().solve(b);
        let e = m.self_adjoint_eigen(Side::Lower).unwrap();
        let c = m.nrows();
        let values = (0..c).map(|j| e.S()[c - 1 - j]).collect();
        let vectors = Mat::from_fn(c, c, |i, j| e.U()[(i, c - 1 - j)]);
        Oracle { m, values, vectors }
    }

    pub fn trace(&self) -> f64 {
        (0..self.m.nrows()).map(|j| self.m[(j, j)]).sum()
    }

    /// The energy of the best k directions.
    pub fn best(&self, k: usize) -> f64 {
        self.values[..k].iter().sum()
    }

    /// The largest principal angle between the first columns of `labels` and as many top eigenvectors.
    pub fn angle(&self, labels: &Matrix, prefix: usize) -> f64 {
        let e = Mat::from_fn(labels.rows(), prefix, |i, j| f64::from(labels.row(i)[j]));
        let v = self.vectors.get(.., ..prefix);
        let outside = &e - v * (v.transpose() * &e);
        outside.singular_values().unwrap()[0].min(1.0).asin()
    }
}

/// trace(EᵀME).
pub fn captured(oracle: &Oracle, labels: &Matrix) -> f64 {
    let e = Mat::from_fn(labels.rows(), labels.cols(), |i, j| f64::from(labels.row(i)[j]));
    let me = &oracle.m * &e;
    (0..e.ncols()).map(|j| (0..e.nrows()).map(|i| e[(i, j)] * me[(i, j)]).sum::<f64>()).sum()
}

/// Sparse random features of both signs, a few labels a row that depend on them.
pub fn sparse(n: usize, d: usize, c: usize, seed: u64) -> Problem {
    let mut normal = rng_normal(seed);
    let x = Mat::from_fn(n, d, |_, _| {
        let (v, keep) = (normal(), normal());
        if keep > 0.5 { v } else { 0.0 }
    });
    let y = Mat::from_fn(n, c, |i, l| {
        let signal = x[(i, l % d)] + 0.5 * x[(i, (3 * l + 1) % d)];
        f64::from(u8::from(signal + 0.3 * normal() > 1.0))
    });
    Problem::new(n, d, c, |i, j| x[(i, j)], |i, l| y[(i, l)])
}

/// Labels of low rank in the features, with falling strength, and noise.
pub fn planted(n: usize, d: usize, c: usize, rank: usize, seed: u64) -> Problem {
    let mut normal = rng_normal(seed);
    let x = Mat::from_fn(n, d, |_, _| normal());
    let a = Mat::from_fn(d, rank, |_, _| normal());
    let b = Mat::from_fn(rank, c, |r, _| normal() * 2f64.powf(-0.5 * r as f64));
    let signal = &x * &a * &b;
    let y = Mat::from_fn(n, c, |i, l| signal[(i, l)] / (d as f64).sqrt() + 0.01 * normal());
    Problem::new(n, d, c, |i, j| x[(i, j)], |i, l| y[(i, l)])
}

/// The problem that the authors check their own code with: 105 hidden factors drive 2007 features and 47 labels, with a
/// little noise on both.
pub fn authors_check(seed: u64) -> Problem {
    let (n, d, hidden, c) = (1009, 2007, 105, 47);
    let mut normal = rng_normal(seed);
    let h = Mat::from_fn(n, hidden, |_, _| normal());
    let to_x = Mat::from_fn(hidden, d, |_, _| normal());
    let to_y = Mat::from_fn(hidden, c, |_, _| normal());
    let (x, y) = (&h * &to_x, &h * &to_y);
    let x = Mat::from_fn(n, d, |i, j| x[(i, j)] + 0.01 * normal());
    let y = Mat::from_fn(n, c, |i, j| y[(i, j)] + 0.01 * normal());
    Problem::new(n, d, c, |i, j| x[(i, j)], |i, j| y[(i, j)])
}
