//! Ablation of the default training: other settings, one at a time, each trained and tested.

use std::time::Instant;

use rembrandt::data::{Dataset, Examples};
use rembrandt::model::{EvaluationOptions, Preprocessing};
use rembrandt::score::ranker::Proposals;
use rembrandt::train::{RankerParams, RankerReport};
use rembrandt::{Error, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::text::table;
use crate::watch::{Watcher, watched};

/// Dimensions, values of C, and lengths of the shortlist to train with.
const DIMENSIONS: [usize; 3] = [22, 88, 176];
const COSTS: [f64; 5] = [0.1, 0.3, 1.0, 3.0, 10.0];
const SHORTLISTS: [u32; 4] = [20, 40, 80, 160];

/// A training with other settings.
struct Variant {
    name: String,
    params: RankerParams,
}

/// Test and held-out figures of a setting.
struct Outcome {
    name: String,
    p: [f64; 3],
    held_out: [f64; 3],
    recall: f64,
    proposals: Proposals,
    cost: f64,
    seconds: f64,
}

/// The results of all settings.
pub struct AblationMeasured {
    outcomes: Vec<Outcome>,
    /// Views of the default training alone, on held-out examples.
    views: Vec<(String, [f64; 3])>,
}

impl AblationMeasured {
    /// Trains with each setting and tests.
    ///
    /// # Errors
    /// If the data cannot be learned from, or the watcher says stop.
    pub fn new((train, test): (&Dataset, &Dataset), watcher: &mut dyn Watcher) -> Result<AblationMeasured> {
        let began = Instant::now();
        let (first, report) = outcome(&Variant::new("default", |_| ()), (train, test), watcher)?;
        let views = report.views.iter().map(|(name, p)| (name.clone(), [p.p1, p.p3, p.p5])).collect();
        let variants = variants(train, first.proposals);
        let mut outcomes = vec![first];
        for (at, variant) in variants.iter().enumerate() {
            watcher.wait(&variant.name, (at + 2, variants.len() + 1), began.elapsed());
            outcomes.push(outcome(variant, (train, test), watcher)?.0);
        }
        watcher.clear();
        Ok(AblationMeasured { outcomes, views })
    }
}

impl Variant {
    fn new(name: impl Into<String>, change: impl FnOnce(&mut RankerParams)) -> Variant {
        Variant { name: name.into(), params: RankerParams::default().with(change) }
    }
}

fn variants(train: &Dataset, chosen: Proposals) -> Vec<Variant> {
    let most = train.shape().c.min(train.shape().d);
    let proposals = |name: String, proposals: Proposals| Variant::new(name, |p| p.proposals = Some(proposals));
    let dimensions = DIMENSIONS.iter().filter(|k| **k <= most);
    let mut all: Vec<Variant> = dimensions.map(|k| Variant::new(format!("k {k}"), |p| p.k = Some(*k))).collect();
    all.extend(COSTS.iter().map(|cost| Variant::new(format!("C {cost}"), |p| p.cost = Some(*cost))));
    let lengths = SHORTLISTS.iter().map(|shortlist| Proposals { shortlist: *shortlist, ..chosen });
    all.extend(lengths.map(|sizes| proposals(format!("shortlist {}", sizes.shortlist), sizes)));
    if chosen.by_embedding > 0 {
        all.push(proposals("by words alone".into(), Proposals { by_embedding: 0, ..chosen }));
        all.push(proposals("by the embedding alone".into(), Proposals { by_words: 0, ..chosen }));
    }
    all
}

fn outcome(
    variant: &Variant,
    (train, test): (&Dataset, &Dataset),
    watcher: &mut dyn Watcher,
) -> Result<(Outcome, RankerReport)> {
    let start = Instant::now();
    let model = variant.params.fit(train, Preprocessing::AsIs, &mut watched(watcher))?;
    let seconds = start.elapsed().as_secs_f64();
    let report = RankerReport::deserialize(model.report()).map_err(|e| Error::Data(e.to_string()))?;
    let options = EvaluationOptions::default().with(|options| options.bootstrap = 0);
    let scores = model.evaluate_with(test, &options)?.scores;
    let held_out = [report.held_out.p1, report.held_out.p3, report.held_out.p5];
    let outcome = Outcome {
        name: variant.name.clone(),
        p: ["p@1", "p@3", "p@5"].map(|key| scores.of(key).unwrap_or_default()),
        held_out,
        recall: report.recall,
        proposals: report.proposals,
        cost: report.cost,
        seconds,
    };
    Ok((outcome, report))
}

fn percent(p: &[f64; 3]) -> String {
    p.map(|p| format!("{:.1}", 100.0 * p)).join(" / ")
}

impl AblationMeasured {
    /// The table for people.
    pub fn table(&self) -> String {
        let names = ["setting", "P@1 / 3 / 5", "held out", "recall", "shortlist", "C", "seconds"];
        let mut lines = vec![names.map(str::to_owned)];
        lines.extend(self.outcomes.iter().map(|outcome| {
            [
                outcome.name.clone(),
                percent(&outcome.p),
                percent(&outcome.held_out),
                format!("{:.1} %", 100.0 * outcome.recall),
                outcome.proposals.shortlist.to_string(),
                outcome.cost.to_string(),
                format!("{:.1}", outcome.seconds),
            ]
        }));
        let mut views = vec![["view alone", "held out"].map(str::to_owned)];
        views.extend(self.views.iter().map(|(name, p)| [name.clone(), percent(p)]));
        format!("{}\n{}", table(&lines), table(&views))
    }

    /// All that was measured.
    pub fn json(&self) -> Value {
        let setting = |outcome: &Outcome| {
            json!({
                "setting": outcome.name, "p@1": outcome.p[0], "p@3": outcome.p[1], "p@5": outcome.p[2],
                "held_out": outcome.held_out, "recall": outcome.recall, "proposals": outcome.proposals,
                "cost": outcome.cost, "seconds": outcome.seconds,
            })
        };
        json!({"settings": self.outcomes.iter().map(setting).collect::<Vec<_>>(), "views": self.views})
    }
}

#[cfg(test)]
mod tests {
    use rembrandt::data::Texts;
    use rembrandt::data::featurizer::FeaturizerParams;

    use super::*;

    #[test]
    fn every_setting_is_trained_and_told() {
        let texts = Texts::new((0..300).map(|i| {
            let label = i % 9;
            (format!("word{label} noise{} noise{}", i % 7, i % 11), vec![format!("label{label}")])
        }));
        let (data, _) = texts.into_dataset(FeaturizerParams::default()).unwrap();
        let measured = AblationMeasured::new((&data, &data), &mut ()).unwrap();
        // No k: there are too few labels. The default, five C, four lengths and two sources.
        assert_eq!(measured.outcomes.len(), 1 + 5 + 4 + 2);
        assert!(measured.outcomes.iter().all(|outcome| outcome.p[0] > 0.5 && outcome.seconds > 0.0));
        let table = measured.table();
        assert!(
            ["default", "C 0.3", "shortlist 40", "by words alone", "one-vs-rest"].iter().all(|n| table.contains(n))
        );
        assert_eq!(measured.json()["settings"].as_array().unwrap().len(), 12);
    }
}
