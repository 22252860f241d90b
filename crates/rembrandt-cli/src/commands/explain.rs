//! `rembrandt explain`: which features of an example speak for a label.

use rembrandt::model::{Model, PredictOptions};
use serde_json::{Map, Value, json};

use crate::args::ExplainArgs;
use crate::output::{facts, print, print_json, short};

pub fn run(args: &ExplainArgs) -> anyhow::Result<()> {
    let model = Model::open(&args.model)?;
    let x = model.prepare_example(&args.example)?;
    let label = match &args.label {
        Some(label) => model.find_label(label)?,
        None => {
            let best = model.predictor(PredictOptions::top(1))?.predict_prepared(x.view());
            best.labels(0)[0]
        }
    };
    let found = model.explain(x.view(), label)?;
    let shown = &found.contributions[..found.contributions.len().min(args.top)];
    if args.json {
        let features: Vec<Value> = shown
            .iter()
            .map(|c| {
                let name = model.feature_name(c.feature);
                json!({"id": c.feature, "name": name, "value": c.value, "contribution": c.log_odds})
            })
            .collect();
        let views: Map<String, Value> = found.views.iter().map(|(v, share)| ((*v).to_owned(), json!(share))).collect();
        return print_json(&json!({
            "label": model.label_name(label), "id": label, "probability": found.probability,
            "log_odds": found.log_odds, "base": found.base, "views": views, "exact": found.exact, "features": features,
        }));
    }
    let mut told = vec![
        ("label", model.label_name(label)),
        ("probability", short(found.probability.into())),
        (if found.exact { "without features" } else { "unexplained" }, format!("{:+.3}", found.base)),
    ];
    told.extend(found.views.iter().map(|(view, share)| (*view, format!("{share:+.3}"))));
    let mut text = facts(&told);
    for c in shown {
        text.push_str(&format!("{:+9.3}  {}\n", c.log_odds, model.feature_name(c.feature)));
    }
    if !found.exact {
        text.push_str("(what the log-odds lose without the feature; the rest is of features together)\n");
    }
    if found.contributions.is_empty() {
        text.push_str("no feature is known to the model: the probability is the frequency of the label\n");
    }
    print(&text)
}
