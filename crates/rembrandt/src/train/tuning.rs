//! The search for better settings of a ranker, for as long as one wants to wait.
//!
//! Settings are changed one at a time, each change is a whole training, and a change stays where held-out examples rank
//! better with it. So the result is never worse on them than the default; how much better it is on others is less, as the
//! best of several was picked by these.

use std::time::{Duration, Instant};

use serde_json::json;

use super::ranker::{RankerParams, Ranking};
use super::report::Trial;
use crate::data::Dataset;
use crate::model::{Model, Preprocessing};
use crate::score::ranker::Proposals;
use crate::{Error, Result, Run};

/// C is multiplied and divided by it: the default chooses among values about three times as far apart.
const COST_FACTOR: f64 = 1.7;

/// A change of one setting, and about how many times as long a training takes with it.
struct Change {
    factor: f64,
    /// Whether the setting was left open.
    free: fn(&RankerParams) -> bool,
    make: fn(&Trial) -> Trial,
}

const CHANGES: [Change; 5] = [
    Change { factor: 1.1, free: |p| p.cost.is_none(), make: |t| Trial { cost: t.cost * COST_FACTOR, ..t.clone() } },
    Change { factor: 1.0, free: |p| p.cost.is_none(), make: |t| Trial { cost: t.cost / COST_FACTOR, ..t.clone() } },
    Change { factor: 1.5, free: |p| p.k.is_none(), make: |t| Trial { k: 2 * t.k, ..t.clone() } },
    Change {
        factor: 2.0,
        free: |p| p.proposals.is_none(),
        make: |t| Trial { proposals: twice(t.proposals), ..t.clone() },
    },
    Change {
        factor: 2.0,
        free: |p| p.proposals.is_none(),
        make: |t| Trial { proposals: longer(t.proposals), ..t.clone() },
    },
];

/// Names of checkpoints tell the settings and not the turn: which change is late depends on the clock, so that a search that
/// goes on after a kill may take other turns.
fn checkpoint_name(Trial { k, cost, proposals, .. }: &Trial) -> String {
    let Proposals { by_words, by_embedding, shortlist } = proposals;
    format!("trial-{k}-{:x}-{by_words}-{by_embedding}-{shortlist}", cost.to_bits())
}

fn longer(proposals: Proposals) -> Proposals {
    let Proposals { by_words, by_embedding, shortlist } = proposals;
    Proposals { shortlist: (2 * shortlist).min(by_words + by_embedding), ..proposals }
}

fn twice(Proposals { by_words, by_embedding, shortlist }: Proposals) -> Proposals {
    Proposals { by_words: 2 * by_words, by_embedding: 2 * by_embedding, shortlist }
}

/// A training that is done.
struct Done {
    trial: Trial,
    ranking: Ranking,
    time: Duration,
}

impl RankerParams {
    /// Trains on `data`, whose features `preprocessing` made.
    ///
    /// # Errors
    /// If the parameters do not fit the data, or `run` was told to stop.
    pub fn fit(&self, data: &Dataset, preprocessing: Preprocessing, run: &mut Run<'_>) -> Result<Model> {
        self.check(data)?;
        match self.budget()? {
            Some(budget) => search(&RankerParams { tune: None, ..self.clone() }, budget, (data, preprocessing), run),
            None => Ok(self.train(data, preprocessing, run)?.model),
        }
    }
}

/// A training that takes this part of the time longer than it was given is ended.
const TOLERANCE: f64 = 0.2;

/// The best of a training with the default settings and of as many others as fit into a time after it.
fn search(
    params: &RankerParams,
    budget: Duration,
    (data, preprocessing): (&Dataset, Preprocessing),
    run: &mut Run<'_>,
) -> Result<Model> {
    let train = |params: &RankerParams, name: &str, run: &mut Run<'_>| -> Result<Done> {
        let start = Instant::now();
        let ranking = run.within(name, |run| params.train(data, preprocessing.clone(), run))?;
        let report = &ranking.report;
        let (k, cost, proposals, ndcg) = (ranking.model.shape().k, report.cost, report.proposals, ranking.mean_ndcg());
        Ok(Done { trial: Trial { k, cost, proposals, ndcg }, ranking, time: start.elapsed() })
    };
    let mut best = train(params, "default", run)?;
    let mut trials = vec![best.trial.clone()];
    let began = Instant::now();
    run.end_at(Some(began + budget.mul_f64(1.0 + TOLERANCE)));
    let (mut since, mut late) = (0, 0);
    for change in CHANGES.iter().cycle() {
        if since == CHANGES.len() {
            break;
        }
        since += 1;
        let wanted = (change.make)(&best.trial);
        let next = params.clone().with(|p| {
            (p.k, p.cost, p.proposals) = (Some(wanted.k), Some(wanted.cost), Some(wanted.proposals));
        });
        let known = trials.iter().any(|t| (t.k, t.cost, t.proposals) == (wanted.k, wanted.cost, wanted.proposals));
        if !(change.free)(params) || known || next.check(data).is_err() {
            continue;
        }
        if began.elapsed() + best.time.mul_f64(change.factor) > budget {
            late += 1;
            continue;
        }
        let done = match train(&next, &checkpoint_name(&wanted), run) {
            // It took longer than was to be expected.
            Err(Error::Cancelled) if run.is_over() => break,
            done => done?,
        };
        trials.push(done.trial.clone());
        if done.ranking.ranks_better_than(&best.ranking) {
            (best, since) = (done, 0);
        }
    }
    run.end_at(None);
    if trials.len() == 1 && late > 0 {
        let time = Duration::from_millis(best.time.as_millis() as u64);
        run.note(format!("{budget:?} is too little to try other settings: a training takes about {time:?}"));
    }
    let mut contents = best.ranking.model.contents().clone();
    contents.report["trials"] = json!(trials);
    Model::new(contents)
}
