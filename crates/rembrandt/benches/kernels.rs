//! How fast the sparse kernels are, next to what the machine can do.
//!
//! `cargo bench -p rembrandt --bench kernels` measures the bandwidth and the arithmetic of the machine, then products
//! with rows of Zipf-distributed ids, and ends with a table of targets. It needs about 6 GB of memory. A name filters
//! the benches as usual.

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, SamplingMode};
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use rembrandt::linalg::csr::{Csr, CsrRef, TransposeRef};
use rembrandt::linalg::kernels::columns::{add_dot, add_multiple, dot, sweep};
use rembrandt::linalg::kernels::{ChunkScratch, cross_chunk, gather};
use rembrandt::{MatRef, Matrix};
use std::hint::black_box;
use std::time::{Duration, Instant};

const WIDTH: usize = 1_000_000;
const HEIGHT: usize = 200_000;
const COLUMNS: usize = 512;
const PANEL: usize = 64;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    let pools = [1, 2].map(|n| ThreadPoolBuilder::new().num_threads(n).build().expect("a pool of threads"));
    let bandwidth = pools.each_ref().map(read_bandwidth);
    let peak = pools.each_ref().map(fma_peak);
    println!("read bandwidth: {:.1} GB/s on 1 thread, {:.1} on 2", bandwidth[0], bandwidth[1]);
    println!("fused multiply-adds: {:.0} GFLOP/s on 1 thread, {:.0} on 2", peak[0], peak[1]);

    let x = zipf_rows();
    let products = products(&mut criterion, &pools, x.view());
    let cross = cross(&mut criterion, &pools, x.view());
    columns(&mut criterion, &pools);
    criterion.final_summary();

    println!("\n{:42} {:>8} {:>8}", "on 2 threads", "target", "reached");
    let [plain, tiled] = products;
    // Zero: left out by a filter on the command line.
    if plain > 0.0 && tiled > 0.0 {
        let gathered = tiled * 2.0;
        println!("{:42} {:>8} {:>8.1}", "sparse × dense, times the plain loop", "2.0", tiled / plain);
        println!("{:42} {:>8} {:>8.1}", "  GFLOP/s", "", tiled);
        println!("{:42} {:>8} {:>8.1}", "  GB/s gathered", "", gathered);
        println!("{:42} {:>8} {:>7.0}%", "  of read bandwidth", "60%", 100.0 * gathered / bandwidth[1]);
    }
    if cross > 0.0 {
        println!("{:42} {:>8} {:>8.1}", "XᵀX·Z, GFLOP/s", "12", cross);
    }
}

/// Read bandwidth in GB/s: the sum of 1 GB.
fn read_bandwidth(pool: &ThreadPool) -> f64 {
    let buffer = Matrix::from_fn(1 << 14, 1 << 14, |i, j| (i ^ j) as f32);
    let bytes = 4.0 * buffer.as_slice().len() as f64;
    let sum = || buffer.as_slice().par_chunks(1 << 18).map(wide_sum).sum::<f32>();
    bytes / best_of(10, || pool.install(sum)) / 1e9
}

fn wide_sum(values: &[f32]) -> f32 {
    let mut total = [0.0; 128];
    for chunk in values.as_chunks::<128>().0 {
        total.iter_mut().zip(chunk).for_each(|(t, v)| *t += v);
    }
    total.iter().sum()
}

/// Multiply-adds on registers alone, in GFLOP/s.
fn fma_peak(pool: &ThreadPool) -> f64 {
    const STEPS: usize = 20_000_000;
    let threads = pool.current_num_threads();
    let chains: fn(f32) -> f32 = |factor| {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor was just seen to have AVX-512F.
            return unsafe { chains_avx512(factor) };
        } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor was just seen to have AVX2 and FMA.
            return unsafe { chains_avx2(factor) };
        }
        independent_chains::<64, STEPS>(factor)
    };
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx512f")]
    fn chains_avx512(factor: f32) -> f32 {
        independent_chains::<192, STEPS>(factor)
    }
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma")]
    fn chains_avx2(factor: f32) -> f32 {
        independent_chains::<96, STEPS>(factor)
    }
    let width = match () {
        #[cfg(target_arch = "x86_64")]
        () if is_x86_feature_detected!("avx512f") => 192,
        #[cfg(target_arch = "x86_64")]
        () if is_x86_feature_detected!("avx2") => 96,
        () => 64,
    };
    let seconds = best_of(3, || pool.broadcast(|_| chains(black_box(0.5))));
    (2 * width * STEPS * threads) as f64 / seconds / 1e9
}

#[inline(always)]
fn independent_chains<const W: usize, const STEPS: usize>(factor: f32) -> f32 {
    let mut values = [1.0f32; W];
    for _ in 0..STEPS {
        values.iter_mut().for_each(|v| *v = v.mul_add(factor, 1.0));
    }
    values.iter().sum()
}

fn best_of<T>(times: usize, mut f: impl FnMut() -> T) -> f64 {
    let run = |_| {
        let start = Instant::now();
        black_box(f());
        start.elapsed().as_secs_f64()
    };
    (0..times).map(run).fold(f64::INFINITY, f64::min)
}

/// Some 40 ids in each row, as frequent as words are, and no order in which are the frequent ones.
fn zipf_rows() -> Csr {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
    let mut names: Vec<u32> = (0..WIDTH as u32).collect();
    for i in (1..WIDTH).rev() {
        names.swap(i, rng.random_range(0..=i));
    }
    let zipf = rand_distr::Zipf::new(WIDTH as f64, 1.0).expect("valid parameters");
    let mut rows = Csr::new(false);
    for _ in 0..HEIGHT {
        let len = rng.random_range(22..=66);
        let mut row: Vec<u32> = (0..len).map(|_| names[rng.sample(zipf) as usize - 1]).collect();
        row.sort_unstable();
        row.dedup();
        row.iter().for_each(|id| rows.push(*id, rng.random_range(-1.0..1.0)));
        rows.end_row();
    }
    rows
}

/// Times `f` under criterion and returns its best GFLOP/s.
fn measure(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, flops: f64, mut f: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    group.bench_function(name, |b| {
        b.iter_custom(|times| {
            let mut total = Duration::ZERO;
            for _ in 0..times {
                let start = Instant::now();
                f();
                let one = start.elapsed();
                best = best.min(one.as_secs_f64());
                total += one;
            }
            total
        });
    });
    let rate = flops / best / 1e9;
    if rate > 0.0 {
        println!("    best: {rate:.1} GFLOP/s");
    }
    rate
}

fn long_runs<'a>(criterion: &'a mut Criterion, name: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    group.warm_up_time(Duration::from_millis(500)).measurement_time(Duration::from_secs(5));
    group
}

/// X z: GFLOP/s on 2 threads of the plain loop and of the kernel.
fn products(criterion: &mut Criterion, pools: &[ThreadPool; 2], x: CsrRef<'_>) -> [f64; 2] {
    let z = Matrix::from_fn(WIDTH, COLUMNS, |i, j| ((i * 31 + j) % 17) as f32);
    let mut out = Matrix::zeros(HEIGHT, COLUMNS);
    let flops = 2.0 * x.nnz() as f64 * COLUMNS as f64;
    let mut group = long_runs(criterion, "sparse × dense, 512 columns");
    let mut rates = [0.0; 2];
    for pool in pools {
        let threads = pool.current_num_threads();
        rates = [
            measure(&mut group, &format!("plain loop, {threads} threads"), flops, || {
                pool.install(|| plain(x, z.view(), &mut out));
            }),
            measure(&mut group, &format!("kernel, {threads} threads"), flops, || {
                pool.install(|| gather(x, None, z.view(), out.view_mut()));
            }),
        ];
    }
    rates
}

/// The product as one would write it without thinking of the machine, rows shared among the threads.
fn plain(x: CsrRef<'_>, z: MatRef<'_>, out: &mut Matrix) {
    out.as_mut_slice().par_chunks_mut(COLUMNS).enumerate().for_each(|(i, row)| {
        row.fill(0.0);
        for (id, v) in x.entries(i) {
            row.iter_mut().zip(z.row(id)).for_each(|(o, z)| *o += v * z);
        }
    });
}

/// One chunk of rows and its transpose.
struct Chunk {
    rows: Csr,
    ids: Vec<u32>,
    ptr: Vec<u32>,
    entries: Vec<u16>,
    values: Vec<f32>,
}

fn chunks(x: CsrRef<'_>, height: usize) -> Vec<Chunk> {
    (0..x.rows()).step_by(height).map(|first| chunk(x, first, (first + height).min(x.rows()))).collect()
}

fn chunk(x: CsrRef<'_>, first: usize, end: usize) -> Chunk {
    let mut rows = Csr::new(false);
    let mut all = Vec::new();
    for i in first..end {
        for (id, v) in x.entries(i) {
            rows.push(id as u32, v);
            all.push((id as u32, (i - first) as u16, v));
        }
        rows.end_row();
    }
    all.sort_unstable_by_key(|e| (e.0, e.1));
    let (mut ids, mut ptr) = (Vec::new(), Vec::new());
    for (i, e) in all.iter().enumerate() {
        if ids.last() != Some(&e.0) {
            ids.push(e.0);
            ptr.push(i as u32);
        }
    }
    ptr.push(all.len() as u32);
    let (entries, values) = all.iter().map(|e| (e.1, e.2)).unzip();
    Chunk { rows, ids, ptr, entries, values }
}

/// XᵀX z for a panel of columns: the best GFLOP/s on 2 threads among the heights of chunks.
fn cross(criterion: &mut Criterion, pools: &[ThreadPool; 2], x: CsrRef<'_>) -> f64 {
    let z = Matrix::from_fn(WIDTH, PANEL, |i, j| ((i * 31 + j) % 17) as f32);
    let mut out = Matrix::zeros(WIDTH, PANEL);
    let mut scratch = ChunkScratch::new();
    let flops = 4.0 * x.nnz() as f64 * PANEL as f64;
    let mut group = long_runs(criterion, "XᵀX·Z, 64 columns");
    let mut best = 0.0f64;
    for height in [4, 8, 16, 32].map(|k| k << 10) {
        let chunks = chunks(x, height);
        for pool in pools {
            let threads = pool.current_num_threads();
            let rate = measure(&mut group, &format!("{height} rows a chunk, {threads} threads"), flops, || {
                pool.install(|| {
                    for c in &chunks {
                        let values = Some(&c.values[..]);
                        let a = TransposeRef { ids: &c.ids, ptr: &c.ptr, rows: &c.entries, values };
                        cross_chunk(a, c.rows.view(), None, z.view(), &mut scratch, out.view_mut());
                    }
                });
            });
            if threads == 2 {
                best = best.max(rate);
            }
        }
    }
    best
}

/// Dense columns: a dot product, and two updates with a dot product in one sweep.
fn columns(criterion: &mut Criterion, pools: &[ThreadPool; 2]) {
    let [p, q] = [1, 2].map(|s| Matrix::from_fn(WIDTH, PANEL, |i, j| ((i * s + j) % 17) as f32));
    let [mut x, mut r] = [0, 0].map(|_| Matrix::zeros(WIDTH, PANEL));
    let factors = [1e-6; PANEL];
    let mut group = long_runs(criterion, "columns, 64 of a million rows");
    for pool in pools {
        let threads = pool.current_num_threads();
        let entries = (WIDTH * PANEL) as f64;
        measure(&mut group, &format!("dot, {threads} threads"), 2.0 * entries, || {
            black_box(pool.install(|| dot(p.view(), q.view())));
        });
        measure(&mut group, &format!("two updates and a dot, {threads} threads"), 6.0 * entries, || {
            let (outs, ins) = ([x.view_mut(), r.view_mut()], [p.view(), q.view()]);
            let step = || {
                sweep(outs, ins, PANEL, |_, [x, mut r], [p, q], sums| {
                    add_multiple(x, &factors, p);
                    add_multiple(r.reborrow(), &factors, q);
                    add_dot(r.as_ref(), r.as_ref(), sums);
                })
            };
            black_box(pool.install(step));
        });
    }
}
