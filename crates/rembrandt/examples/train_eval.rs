//! Trains a head on one text file, tries it on another, and says how long each stage took.
//!
//! ```text
//! cargo run --release -p rembrandt --example train_eval -- TRAIN TEST [k=100] [ridge=1] [preset=aloi|mulan]
//!     [head=ls|lr|ilr] [features=gaussian|cauchy|matern3|matern5[-quasi]:COUNT] [bandwidth=1]
//!     [folds=3] [head-ridge=1,10,…] [blend=0,4,…] [shrink=0] [epochs=N] [batch=N] [step=X] [steps=N] [tolerance=X]
//! ```
//!
//! With several values of `head-ridge` or `blend` the best is chosen on a fold of the training examples.

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;
use std::time::Instant;

use rembrandt::data::Dataset;
use rembrandt::embed::Preset;
use rembrandt::head::{
    FeatureParams, Folds, Head, Inputs, Kernel, LogisticParams, Loss, RandomFeatures, Selection, Targets, out_of_fold,
};
use rembrandt::{Embedding, Examples, Matrix, Rembrandt, Run};

fn main() -> Result<(), Box<dyn Error>> {
    let (files, options): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|a| !a.contains('='));
    let [train, test] = &files[..] else { return Err("usage: train_eval TRAIN TEST [option=value …]".into()) };
    let options: HashMap<&str, &str> = options.iter().filter_map(|o| o.split_once('=')).collect();
    let text = |name: &str, default: &'static str| -> &str { options.get(name).copied().unwrap_or(default) };
    let mut clock = Clock(Instant::now());

    let (train, _) = Dataset::read(Path::new(train), &Default::default(), &mut |_, _| true)?;
    let (test, _) = Dataset::read(Path::new(test), &Default::default(), &mut |_, _| true)?;
    clock.stage("read");

    let mut params = match text("preset", "") {
        "aloi" => Rembrandt::preset(Preset::Aloi),
        "mulan" => Rembrandt::preset(Preset::Mulan),
        _ => Rembrandt::default(),
    };
    params.k = options.get("k").map_or(Ok(params.k), |v| v.parse())?;
    params.ridge = options.get("ridge").map_or(Ok(params.ridge), |v| v.parse())?;
    let run = &mut Run::default();
    let embedding = params.fit(&train, run)?;
    clock.stage("embedding");

    let head = match text("head", "ilr") {
        "ls" => Head::LeastSquares,
        name => {
            let loss = if name == "lr" { Loss::Softmax } else { Loss::Independent };
            let folds = Folds { count: text("folds", "3").parse()?, seed: 1, groups: None };
            let h = if folds.count >= 2 {
                out_of_fold(&params, &train, &embedding.labels, folds, run)?
            } else {
                place(&embedding, &train)?
            };
            clock.stage("cross-fitting");
            let features = feature_params(text("features", ""), text("bandwidth", "1").parse()?)?
                .map(|params| RandomFeatures::draw(&params, h.view()))
                .transpose()?;
            let labels = train.labels()?;
            let weights = train.weights()?;
            let targets = Targets {
                labels: labels.view(),
                count: train.shape().c,
                example_weights: weights.as_deref(),
                label_weights: None,
            };
            let numbers = |text: &str| text.split(',').map(str::parse).collect::<Result<Vec<f64>, _>>();
            let ridges = numbers(text("head-ridge", "1"))?;
            let blends: Vec<f32> = numbers(text("blend", "0"))?.into_iter().map(|b| b as f32).collect();
            let mut params = LogisticParams { ridge: ridges[0], ..LogisticParams::new(loss) };
            let number = |name: &str, default: f64| options.get(name).map_or(Ok(default), |v| v.parse());
            params.shrink = number("shrink", 0.0)? as f32;
            params.epochs = number("epochs", params.epochs as f64)? as usize;
            params.batch = number("batch", params.batch as f64)? as usize;
            params.step = number("step", params.step.into())? as f32;
            params.steps = number("steps", params.steps as f64)? as usize;
            params.tolerance = number("tolerance", params.tolerance)?;
            let mut blend = blends[0];
            if ridges.len() * blends.len() > 1 {
                let folds = Folds { count: folds.count.max(3), seed: 1, groups: None };
                let selection = Selection { ridges: &ridges, blends: &blends, folds };
                let tried =
                    selection.choose(&params, (h.view(), features.as_ref()), targets, &embedding.labels, run)?;
                for t in tried.iter().take(3) {
                    println!("tried ridge {} blend {}: {:.4}", t.ridge, t.blend, t.quality);
                }
                (params.ridge, blend) = (tried[0].ridge, tried[0].blend);
                clock.stage("selection");
            }
            let (model, report) = params.fit(Inputs::new(h.view(), features.as_ref()), targets, run)?;
            println!("{report:?}");
            Head::Logistic { features, model, blend }
        }
    };
    clock.stage("head");

    let h = place(&embedding, &test)?;
    let labels = test.labels()?;
    let n = test.shape().n;
    let mut hits = [0; 5];
    let mut errors = 0;
    const BATCH: usize = 4096;
    for from in (0..n).step_by(BATCH) {
        let rows = BATCH.min(n - from);
        let scores = head.scores(&embedding.labels, h.view().split_rows_at(from).1.split_rows_at(rows).0);
        for i in 0..rows {
            let (held, _) = labels.view().row(from + i);
            let top = top(scores.row(i), 5);
            errors += usize::from(!held.contains(&(top[0] as u32)));
            for (depth, hit) in hits.iter_mut().enumerate() {
                *hit += top.iter().take(depth + 1).filter(|l| held.contains(&(**l as u32))).count();
            }
        }
    }
    clock.stage("prediction");
    let precision = |depth: usize| 100.0 * hits[depth - 1] as f64 / (depth * n) as f64;
    println!("error {:.2} %", 100.0 * errors as f64 / n as f64);
    println!("precision at 1, 3, 5: {:.2} {:.2} {:.2}", precision(1), precision(3), precision(5));
    Ok(())
}

struct Clock(Instant);

impl Clock {
    fn stage(&mut self, name: &str) {
        println!("{name}: {:.2} s", self.0.elapsed().as_secs_f64());
        self.0 = Instant::now();
    }
}

/// h of every example.
fn place(embedding: &Embedding, data: &Dataset) -> rembrandt::Result<Matrix> {
    let mut h = data.gather_features(embedding.projection.view())?;
    for i in 0..h.rows() {
        h.row_mut(i).iter_mut().zip(&embedding.intercept).for_each(|(h, v)| *h += v);
    }
    Ok(h)
}

fn feature_params(text: &str, bandwidth: f64) -> Result<Option<FeatureParams>, Box<dyn Error>> {
    let Some((name, count)) = text.split_once(':') else { return Ok(None) };
    let (name, quasi) = name.strip_suffix("-quasi").map_or((name, false), |name| (name, true));
    let kernel = match name {
        "gaussian" => Kernel::Gaussian,
        "cauchy" => Kernel::Cauchy,
        "matern3" => Kernel::Matern3,
        "matern5" => Kernel::Matern5,
        other => return Err(format!("no random features are called {other}").into()),
    };
    Ok(Some(FeatureParams { kernel, quasi, count: count.parse()?, bandwidth, seed: 1 }))
}

/// The labels with the highest scores; of equal ones the lower id first.
fn top(scores: &[f32], count: usize) -> Vec<usize> {
    let mut ids: Vec<usize> = (0..scores.len()).collect();
    ids.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(a.cmp(b)));
    ids.truncate(count);
    ids
}
