//! The lists, from a model and its training examples.

use rayon::prelude::*;

use super::{Linear, LogPartition, Shortlist, Width};
use crate::linalg::csr::{Columns, CsrRef};
use crate::linalg::kernels::dots::narrow;
use crate::linalg::topk::TopK;

/// Labels of a feature whose shares are computed, for each that the list keeps: those that it occurred with most often.
const COMPUTED: usize = 4;
/// Features of one task.
const GRAIN: usize = 64;
/// Labels of everybody's list, at most: as many as the widest search scores.
const EVERY: usize = super::measure::WIDEST.labels;

/// Lists on their way: besides what is kept, whether a feature and a label met in one example only.
pub(crate) struct Postings {
    pub shortlist: Shortlist,
    pub once: Vec<bool>,
}

/// A label on a list.
struct Entry {
    label: u32,
    share: f32,
    once: bool,
}

impl Postings {
    /// Lists of at most `most` labels for every feature, from examples with features and labels. Labels and features
    /// that the model does not have are left out.
    pub fn build(linear: &Linear<'_>, x: CsrRef<'_>, y: CsrRef<'_>, most: usize) -> Postings {
        let (d, c) = (linear.projection.rows(), linear.c());
        let examples = Examples::new(x, d);
        let lists: Vec<Vec<Entry>> = (0..d)
            .into_par_iter()
            .with_min_len(GRAIN)
            .map_init(Vec::new, |met, feature| list(linear, &examples, y, feature, most, met))
            .collect();
        let offsets: Vec<f32> = (0..c).into_par_iter().with_min_len(1024).map(|label| linear.offset(label)).collect();
        let mut every = TopK::new(EVERY);
        (0u32..).zip(&offsets).for_each(|(label, offset)| every.offer(label, *offset));
        let every = every.into_ranked().map(|(label, _)| Entry { label, share: 0.0, once: false });

        let entries = lists.iter().map(Vec::len).sum::<usize>() + c.min(EVERY);
        let mut starts = Vec::with_capacity(d + 2);
        let (mut labels, mut shares) = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        let mut once = Vec::with_capacity(entries);
        for list in lists.into_iter().chain([every.collect()]) {
            starts.push(labels.len() as u64);
            for entry in list {
                labels.push(entry.label);
                shares.push(narrow(entry.share));
                once.push(entry.once);
            }
        }
        starts.push(labels.len() as u64);
        let width = Width { probes: most, labels: EVERY };
        Postings {
            shortlist: Shortlist {
                width,
                log_partition: None,
                starts: starts.into(),
                labels: labels.into(),
                shares: shares.into(),
                offsets: offsets.into(),
            },
            once,
        }
    }

    /// What is kept, with lists no longer than `most`.
    pub fn finish(self, width: Width, most: usize, log_partition: Option<LogPartition>) -> Shortlist {
        let Shortlist { starts, labels, shares, offsets, .. } = self.shortlist;
        let (mut kept_starts, mut kept_labels, mut kept_shares) = (vec![0], Vec::new(), Vec::new());
        let lists = starts.len() - 1;
        for (list, pair) in starts.windows(2).enumerate() {
            let [from, to] = [pair[0] as usize, pair[1] as usize];
            let to = if list + 1 < lists { to.min(from + most) } else { to };
            kept_labels.extend_from_slice(&labels[from..to]);
            kept_shares.extend_from_slice(&shares[from..to]);
            kept_starts.push(kept_labels.len() as u64);
        }
        let (starts, labels, shares) = (kept_starts.into(), kept_labels.into(), kept_shares.into());
        Shortlist { width, log_partition, starts, labels, shares, offsets }
    }
}

/// The list of a feature, the best first. `met` is memory to work in.
fn list(
    linear: &Linear<'_>,
    examples: &Examples,
    y: CsrRef<'_>,
    feature: usize,
    most: usize,
    met: &mut Vec<u32>,
) -> Vec<Entry> {
    met.clear();
    let known = |label: &u32| (*label as usize) < linear.c();
    examples.columns.rows(feature).iter().for_each(|i| met.extend(y.row(*i as usize).0.iter().copied().filter(known)));
    met.sort_unstable();
    let mut counted: Vec<(u32, u32)> =
        met.chunk_by(|a, b| a == b).map(|same| (same[0], same.len().min(u32::MAX as usize) as u32)).collect();
    let computed = COMPUTED.saturating_mul(most);
    if counted.len() > computed {
        counted.select_nth_unstable_by(computed, |a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        counted.truncate(computed);
    }
    // A feature that is negative as a rule speaks for the labels with the smallest shares.
    let sign = examples.signs[feature];
    let entry = |(label, count): (u32, u32)| {
        let share = linear.share(feature, label as usize);
        // Numbers too large for their product say nothing.
        Entry { label, share: if share.is_finite() { share } else { 0.0 }, once: count == 1 }
    };
    let mut entries: Vec<Entry> = counted.into_iter().map(entry).collect();
    entries.sort_unstable_by(|a, b| (sign * b.share).total_cmp(&(sign * a.share)).then(a.label.cmp(&b.label)));
    entries.truncate(most);
    entries.shrink_to_fit();
    entries
}

/// Which examples have a feature.
struct Examples {
    columns: Columns,
    /// 1, or −1 where the values of a feature add up to less than 0.
    signs: Vec<f32>,
}

impl Examples {
    fn new(x: CsrRef<'_>, d: usize) -> Examples {
        let mut sums = vec![0f64; d];
        for i in 0..x.rows() {
            x.entries(i).filter(|(id, _)| *id < d).for_each(|(id, value)| sums[id] += f64::from(value));
        }
        let signs = sums.into_iter().map(|sum| if sum < 0.0 { -1.0 } else { 1.0 }).collect();
        // The values have been used.
        Examples { columns: Columns::new(CsrRef { values: None, ..x }, d), signs }
    }
}
