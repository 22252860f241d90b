//! The choice of C, on held-out examples.

use rayon::prelude::*;

use super::candidates::Tier;
use super::dual_descent::DualDescent;
use super::label_problems::LabelProblems;

/// C of the squared hinge loss: the values to choose from, ascending, and the one where nothing is held out.
const COSTS: [f64; 4] = [0.1, 0.3, 1.0, 3.0];
const USUAL_COST: f64 = 0.3;
/// Passes for the first C, and for each of the others, which begins where the one before it ended.
const PASSES: usize = 6;
const WARM_PASSES: usize = 2;
/// C is chosen on a sample of labels with one part in so many of the work.
const SAMPLE: usize = 12;
/// Tasks at most: each has room for all features.
const TASKS: usize = 256;

impl LabelProblems<'_> {
    /// The C with the largest average precision over all pairs of a held-out example and a candidate among a sample of the
    /// labels. It looks at the pairs that score highest, as a prediction does, and a sample of labels estimates it.
    pub fn choose_cost(&self) -> f64 {
        if self.held_out_rows.is_empty() {
            return USUAL_COST;
        }
        let labels = self.sample_of_labels();
        let path = |descent: &mut DualDescent<'_>, label: &usize| -> Vec<Vec<f32>> {
            descent.begin(*label);
            descent.duals.extend(self.duals(*label, false));
            let score = |(at, cost): (usize, f64)| {
                descent.descend(cost, if at == 0 { PASSES } else { WARM_PASSES });
                self.scores(descent, *label)
            };
            let scores = COSTS.into_iter().enumerate().map(score).collect();
            descent.end();
            scores
        };
        let tasks = labels.par_iter().with_min_len(labels.len().div_ceil(TASKS));
        let scores: Vec<Vec<Vec<f32>>> = tasks.map_init(|| self.descent(), path).collect();
        let precision = |at: usize| {
            let mut pairs = Vec::new();
            for (label, scores) in labels.iter().zip(&scores) {
                for (place, score) in self.held_out_pairs.rows(*label).iter().zip(&scores[at]) {
                    // Most negatives of a label do not come from votes, and neither should those that C is chosen by.
                    if self.candidate(*place, *label).tier == Tier::ByVotes {
                        continue;
                    }
                    let i = self.held_out_rows[*place as usize] as usize;
                    let hit = self.data.y.row(i).0.binary_search(&(*label as u32)).is_ok();
                    pairs.push((*score, hit, self.data.weight(i)));
                }
            }
            average_precision(pairs)
        };
        let found: Vec<f64> = (0..COSTS.len()).map(precision).collect();
        let best = (0..COSTS.len()).max_by(|a, b| found[*a].total_cmp(&found[*b]).then(b.cmp(a)));
        best.map_or(USUAL_COST, |at| COSTS[at])
    }

    /// Labels that held-out examples have as candidates, with a part of the work of all.
    fn sample_of_labels(&self) -> Vec<usize> {
        let mut labels: Vec<usize> =
            (0..self.data.c).filter(|label| !self.held_out_pairs.rows(*label).is_empty()).collect();
        // In an order that has nothing to do with that of the data.
        labels.sort_unstable_by_key(|label| (*label as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29));
        let all: usize = labels.iter().map(|label| self.examples(*label)).sum();
        let mut work = 0;
        let enough = labels.iter().position(|label| {
            work += self.examples(*label);
            work * SAMPLE >= all
        });
        labels.truncate(enough.map_or(labels.len(), |at| at + 1));
        labels
    }
}

/// The mean, over pairs that are right, of the share of right ones among those that score at least as much. Of equal scores
/// wrong ones count first.
fn average_precision(mut pairs: Vec<(f32, bool, f64)>) -> f64 {
    pairs.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.total_cmp(&b.2)));
    let (mut right, mut all, mut sum) = (0.0, 0.0, 0.0);
    for (_, hit, weight) in pairs {
        all += weight;
        if hit && all > 0.0 {
            right += weight;
            sum += weight * right / all;
        }
    }
    if right > 0.0 { sum / right } else { 0.0 }
}
