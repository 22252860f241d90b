//! How fast tall matrices are made orthonormal, next to plain matrix products of the same size.
//!
//! `cargo bench -p rembrandt --bench orth`. Both are counted as the products that they consist of: orthonormalising
//! takes two rounds of AᵀA and A·C, so 8·c·k² operations; A·C alone takes 2·c·k².

use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode};
use faer::{Accum, Mat, Par};
use rayon::prelude::*;
use rembrandt::Matrix;
use rembrandt::linalg::orthonormalize;

const ROWS: usize = 100_000;
const BLOCK: usize = 512;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    println!("on {} threads, GFLOP/s", rayon::current_num_threads());
    for k in [120, 320, 520] {
        let a = Matrix::from_fn(ROWS, k, |i, j| ((i * 31 + j * j * 17 + i * j) % 1009) as f32 / 1009.0 - 0.5);
        let product = measure(&mut criterion, &format!("product, k = {k}"), 2.0, k, || {
            let b = Mat::<f32>::from_fn(k, k, |i, j| ((i + j) % 7) as f32);
            let mut out = Matrix::zeros(ROWS, k);
            out.as_mut_slice().par_chunks_mut(BLOCK * k).zip(a.as_slice().par_chunks(BLOCK * k)).for_each(
                |(out, a)| {
                    let rows = a.len() / k;
                    let a = faer::MatRef::from_row_major_slice(a, rows, k);
                    let out = faer::MatMut::from_row_major_slice_mut(out, rows, k);
                    faer::linalg::matmul::matmul(out, Accum::Replace, a, &b, 1.0, Par::Seq);
                },
            );
        });
        let orth = measure(&mut criterion, &format!("orthonormalize, k = {k}"), 8.0, k, || {
            let mut q = a.clone();
            assert_eq!(orthonormalize(&mut q), k);
        });
        println!(
            "k = {k}: product {product:.0}, orthonormalize {orth:.0}: {:.2} times slower (target 2)",
            product / orth
        );
    }
    criterion.final_summary();
}

/// Best rate in GFLOP/s.
fn measure(criterion: &mut Criterion, name: &str, products: f64, k: usize, mut f: impl FnMut()) -> f64 {
    let mut best = f64::MAX;
    let mut group = criterion.benchmark_group("tall");
    group.sample_size(10).sampling_mode(SamplingMode::Flat).warm_up_time(Duration::from_millis(500));
    group.bench_function(name, |bencher| {
        bencher.iter_custom(|times| {
            (0..times)
                .map(|_| {
                    let start = Instant::now();
                    f();
                    let time = start.elapsed();
                    best = best.min(time.as_secs_f64());
                    time
                })
                .sum()
        });
    });
    products * (ROWS * k * k) as f64 / best / 1e9
}
