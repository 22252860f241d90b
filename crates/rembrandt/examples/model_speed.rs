//! How long a model takes to open and to predict, on data that say nothing.
//!
//! ```text
//! cargo run --release -p rembrandt --example model_speed -- [c=50000] [d=100000] [k=200] [rows=2048] [nnz=50] [threads=2]
//! ```

use std::collections::HashMap;
use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Instant;

use rembrandt::Run;
use rembrandt::data::Dataset;
use rembrandt::embed::Method;
use rembrandt::linalg::csr::Csr;
use rembrandt::model::{Model, PredictOptions, Preprocessing};
use rembrandt::score::head::Sampled;
use rembrandt::train::{HeadKind, TrainParams, Tuning};

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
    let data = made_up(&dir.path().join("train.vw"), c, d, nnz)?;
    for head in [HeadKind::Independent, HeadKind::Softmax] {
        // The least training that gives a model of this size: random label vectors, and a step or two for the head.
        let sampled = Sampled { labels: 64, epochs: 1, steps: 2, ..Sampled::new(head.loss()) };
        let mut params = TrainParams {
            k: Some(k),
            folds: 0,
            shortlist: None,
            sampled: Some(sampled),
            ..TrainParams::with(Method::Cs, head)
        };
        params.embedding.cg_steps = 1;
        let model = params.fit(&data, Preprocessing::AsIs, &Tuning::off(), &mut Run::default())?;
        for model in [model.compact(), model] {
            let (shape, precision) = (model.shape(), model.precision());
            let path = dir.path().join("a.model");
            model.save(&path)?;
            let size = std::fs::metadata(&path)?.len() >> 20;
            let mut best = f64::INFINITY;
            for _ in 0..5 {
                let start = Instant::now();
                Model::open(&path)?;
                best = best.min(start.elapsed().as_secs_f64());
            }
            println!("{head:?} {precision:?}, {shape:?}: {size} MB, opened in {:.1} ms", best * 1e3);
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
            let products = 2.0 * rows as f64 * shape.c as f64 * (shape.k + 1) as f64;
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

/// Examples with names for all labels and features, each of which occurs.
fn made_up(path: &Path, c: usize, d: usize, nnz: usize) -> Result<Dataset, Box<dyn Error>> {
    let mut file = BufWriter::new(File::create(path)?);
    for i in 0..c.max(d.div_ceil(nnz)) {
        write!(file, "label{} |", i % c)?;
        for j in 0..nnz.min(d) {
            write!(file, " feature{}:{}", (i * nnz + j) % d, 1 + (i + j) % 3)?;
        }
        writeln!(file)?;
    }
    file.into_inner()?.sync_all()?;
    Ok(Dataset::read(path, &Default::default(), &mut Run::default())?.0)
}
