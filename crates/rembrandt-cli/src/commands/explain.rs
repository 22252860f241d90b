//! `rembrandt explain`: which features of an example speak for a label.

use std::path::Path;

use rembrandt::Result;
use rembrandt::data::formats::{Ids, ReadOptions, read_rows_with_vocabulary_from};
use rembrandt::linalg::csr::Csr;
use rembrandt::model::{Model, PredictOptions, Preprocessing};
use serde_json::{Value, json};

use super::stream::known;
use crate::args::ExplainArgs;
use crate::output::{facts, print, print_json, short};

pub fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let model = Model::open(&args.model)?;
    let x = prepare(&model, &args.example)?;
    let label = match &args.label {
        Some(label) => model.find_label(label)?,
        None => {
            let best = model.predictor(PredictOptions::top(1))?.predict_prepared(x.view());
            best.labels(0)[0] as usize
        }
    };
    let found = model.explain(x.view(), label)?;
    let shown = &found.contributions[..found.contributions.len().min(args.top)];
    if args.json {
        let features: Vec<Value> = shown
            .iter()
            .map(|(id, value, contribution)| {
                let name = model.feature_name(*id as usize);
                json!({"id": id, "name": name, "value": value, "contribution": contribution})
            })
            .collect();
        return print_json(&json!({
            "label": model.label_name(label), "id": label, "probability": found.probability,
            "log_odds": found.log_odds, "base": found.base, "nominated": found.nominated, "exact": found.exact, "features": features,
        }));
    }
    let mut told = vec![
        ("label", model.label_name(label)),
        ("probability", short(found.probability.into())),
        (if found.exact { "without features" } else { "unexplained" }, format!("{:+.3}", found.base)),
    ];
    if found.nominated != 0.0 {
        told.push(("nominated", format!("{:+.3}", found.nominated)));
    }
    let mut text = facts(&told);
    for (id, _, contribution) in shown {
        text.push_str(&format!("{contribution:+9.3}  {}\n", model.feature_name(*id as usize)));
    }
    if !found.exact {
        text.push_str("(what the log-odds lose without the feature; the rest is of features together)\n");
    }
    if found.contributions.is_empty() {
        text.push_str("no feature is known to the model: the probability is the frequency of the label\n");
    }
    print(&text)
}

/// The features of the example that was typed.
fn prepare(model: &Model, example: &str) -> Result<Csr> {
    if let Preprocessing::Text(_) = model.preprocessing() {
        return model.prepare_texts(&[example]);
    }
    // A leading space says that there are no labels. An example is one line, and no features are an example too.
    let line = format!(" {}\n", example.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut rows = Csr::new(false);
    if line.trim().is_empty() {
        rows.end_row();
        return model.prepare(rows.view());
    }
    let words = model.training_stats().words.iter().all(|words| *words);
    let options = ReadOptions { ids: if words { Ids::Words } else { Ids::Auto }, ..ReadOptions::default() };
    let name = Path::new("the example");
    read_rows_with_vocabulary_from(line.as_bytes(), name, &options, &known(model)?, &mut |_, _| true, &mut |batch| {
        rows = batch.x;
        Ok(())
    })?;
    model.prepare(rows.view())
}
