//! From an example to its shortlist.

use super::{Shortlist, Width};
use crate::linalg::kernels::dots::Number;
use crate::linalg::sparse_accumulator::SparseAccumulator;
use crate::linalg::topk::TopK;

impl Shortlist {
    /// The shortlist of an example, ascending. Features beyond those of the lists are left out, and so is what `skip`
    /// says of a place in the lists and its label.
    pub(crate) fn search(
        &self,
        (ids, values): (&[u32], Option<&[f32]>),
        width: Width,
        skip: impl Fn(usize, u32) -> bool,
        sums: &mut SparseAccumulator,
    ) -> Vec<u32> {
        let features = self.starts.len() - 2;
        let place = |list: usize, most: usize| {
            let [from, to] = [list, list + 1].map(|list| self.starts[list] as usize);
            from..to.min(from.saturating_add(most))
        };
        let known = || ids.iter().enumerate().filter(|(_, id)| (**id as usize) < features);
        // Everybody's list comes first: it makes sure that there are as many labels as may be asked for.
        let every = place(features, width.labels);
        let most = known().map(|(_, id)| place(*id as usize, width.probes).len()).sum::<usize>() + every.len();
        sums.clear(most);
        self.labels[every].iter().for_each(|label| sums.add(*label, 0.0));
        for (i, id) in known() {
            let (range, value) = (place(*id as usize, width.probes), values.map_or(1.0, |values| values[i]));
            let pairs = self.labels[range.clone()].iter().zip(&self.shares[range.clone()]);
            for (at, (label, share)) in range.zip(pairs) {
                if !skip(at, *label) {
                    sums.add(*label, value * share.widen());
                }
            }
        }
        let mut best = TopK::new(width.labels);
        sums.iter().for_each(|(label, sum)| best.offer(label, sum + self.offsets[label as usize]));
        let mut found: Vec<u32> = best.into_ranked().map(|(label, _)| label).collect();
        found.sort_unstable();
        found
    }
}
