//! How long a model takes to open and to predict, on random numbers.
//!
//! ```text
//! cargo run --release -p rembrandt --example model_speed -- [c=50000] [d=100000] [k=200] [rows=2048] [nnz=50] [threads=2]
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::time::Instant;

use rembrandt::Matrix;
use rembrandt::linalg::csr::Csr;
use rembrandt::model::{Model, ModelParts, Precision, PredictOptions, Preprocessing, TrainingStats};
use rembrandt::score::head::{Calibration, Head, Logistic, Loss};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let options: HashMap<&str, usize> = args
        .iter()
        .filter_map(|arg| arg.split_once('='))
        .map(|(name, v)| Ok((name, v.parse()?)))
        .collect::<Result<_, std::num::ParseIntError>>()?;
    let number = |name: &str, default: usize| options.get(name).copied().unwrap_or(default);
    let (c, d, k) = (number("c", 50_000), number("d", 100_000), number("k", 200));
    let (rows, nnz) = (number("rows", 2048), number("nnz", 50));
    rayon::ThreadPoolBuilder::new().num_threads(number("threads", 2)).build_global()?;

    let mut state = 1u64;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let mut x = Csr::new(false);
    for _ in 0..rows {
        let mut ids: Vec<u32> = (0..nnz).map(|_| ((draw() + 1.0) / 2.0 * (d - 1) as f32) as u32).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.iter().for_each(|id| x.push(*id, draw()));
        x.end_row();
    }
    let dir = tempfile::tempdir()?;
    for (name, loss) in [("independent", Loss::Independent), ("softmax", Loss::Softmax)] {
        let mut matrix = |rows, cols| Matrix::from_fn(rows, cols, |_, _| draw());
        let parts = ModelParts {
            preprocessing: Preprocessing::AsIs,
            labels: matrix(c, k),
            projection: matrix(d, k),
            intercept: vec![0.0; k],
            spectrum: vec![1.0; k],
            head: Head::Logistic { features: None, model: Logistic { loss, weights: matrix(c, k + 1) }, blend: 1.0 },
            shortlist: None,
            evidence: None,
            trees: None,
            calibration: Calibration::identity(loss),
            thresholds: vec![0.5; c],
            background: TrainingStats {
                examples: 1,
                counts: vec![1; c],
                mean: vec![0.0; k],
                covariance: Matrix::zeros(k, k),
                words: [true, true],
            },
            label_names: Some((0..c).map(|l| format!("label {l}")).collect()),
            feature_names: Some((0..d).map(|f| format!("feature {f}")).collect()),
            params: serde_json::json!({}),
            report: serde_json::json!({}),
        };
        for precision in [Precision::F32, Precision::Bf16] {
            let path = dir.path().join("a.model");
            parts.save(&path, precision)?;
            let size = std::fs::metadata(&path)?.len() >> 20;
            let mut best = f64::INFINITY;
            for _ in 0..5 {
                let start = Instant::now();
                Model::open(&path)?;
                best = best.min(start.elapsed().as_secs_f64());
            }
            println!("{name} {precision:?}: {size} MB, opened in {:.1} ms", best * 1e3);
            let model = Model::open(&path)?;
            let predictor = model.predictor(PredictOptions::top(5))?;
            let (mut batch, mut single) = (f64::INFINITY, f64::INFINITY);
            for i in 0..5 {
                let start = Instant::now();
                predictor.predict(x.view())?;
                batch = batch.min(start.elapsed().as_secs_f64());
                let mut one = Csr::new(false);
                one.extend_rows(x.view(), i % rows, i % rows + 1);
                let start = Instant::now();
                predictor.predict(one.view())?;
                single = single.min(start.elapsed().as_secs_f64());
            }
            let products = 2.0 * rows as f64 * c as f64 * (k + 1) as f64;
            let per_row = batch / rows as f64 * 1e6;
            println!(
                "  {per_row:.0} µs a row in a batch ({:.1} GFLOP/s), {:.1} ms alone",
                products / batch / 1e9,
                single * 1e3
            );
        }
    }
    Ok(())
}
