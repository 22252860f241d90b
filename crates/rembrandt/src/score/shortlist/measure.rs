//! How much a shortlist misses, and how long it must be.
//!
//! Examples that were kept from the head are ranked by a scan of all labels and by their shortlists. If these are
//! training examples, their own labels are on the lists of their features. So what a list knows from the example alone is
//! skipped: a feature and a label that met in one example only met in this one.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::log_partition::Observed;
use super::{Linear, LogPartition, Postings, Shortlist, Width};
use crate::linalg::csr::CsrRef;
use crate::linalg::matrix::MatRef;
use crate::linalg::sparse_accumulator::SparseAccumulator;
use crate::score::head::{Calibration, Loss, STRIP};
use crate::score::scorer::{Scored, Scorer};

/// The search that is tried first; the next are each twice as wide.
const FIRST: Width = Width { probes: 64, labels: 256 };
/// The last that is tried.
pub(crate) const WIDEST: Width = Width { probes: 512, labels: 2048 };
/// What is kept of lists, for each label that is read: who wants to can search more widely.
const KEPT: usize = 2;
/// The part of the precision of a scan that a shortlist must reach.
const ENOUGH: f64 = 0.99;
/// Examples that decide, at most: a percent of precision takes some thousands to be told.
pub(crate) const DECIDING: usize = 5000;
/// Ranks that count.
const TOP: usize = 5;

/// What a search with shortlists found, beside what a scan of all labels found for the same examples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// How wide the search was.
    #[serde(flatten)]
    pub width: Width,
    /// Labels scored for an example, on average.
    pub scored: f64,
    /// The part of the five best labels of the scan that are on the shortlist.
    pub recall_of_scan: f64,
    /// The part of the labels that examples have that are on the shortlist.
    pub recall_of_labels: f64,
    /// Precision at 1.
    #[serde(rename = "p@1")]
    pub p1: f64,
    /// Precision at 5.
    #[serde(rename = "p@5")]
    pub p5: f64,
}

/// How the width of a search was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortlistReport {
    /// Number of examples that decided.
    pub examples: u64,
    /// Precision at 1 of a scan of all labels.
    #[serde(rename = "scan_p@1")]
    pub scan_p1: f64,
    /// Precision at 5 of a scan of all labels.
    #[serde(rename = "scan_p@5")]
    pub scan_p5: f64,
    /// What was tried, the chosen one last.
    pub tried: Vec<Measured>,
    /// Whether the last was good enough. If not, the model has no lists and scans all labels.
    pub used: bool,
}

impl ShortlistReport {
    /// The last that was tried.
    pub fn last(&self) -> Option<&Measured> {
        self.tried.last()
    }
}

/// Examples to try a search on.
#[derive(Clone, Copy)]
pub(crate) struct Trial<'a> {
    pub x: CsrRef<'a>,
    pub y: CsrRef<'a>,
    pub h: MatRef<'a>,
    /// Whether the lists were made from these examples, among others.
    pub own: bool,
}

/// What a scan of all labels found for an example.
struct Scan {
    best: Vec<u32>,
    /// log Σ exp of the calibrated scores.
    log_sum: f64,
}

/// Builds lists and finds the width of the search with them, if there is one that is good enough.
pub(crate) fn choose(
    linear: &Linear<'_>,
    scorer: &Scorer<'_>,
    (x, y): (CsrRef<'_>, CsrRef<'_>),
    trial: Trial<'_>,
    calibration: Calibration,
) -> (Option<Shortlist>, ShortlistReport) {
    let postings = Postings::build(linear, x, y, WIDEST.probes);
    let scans = scan(scorer, &trial);
    let held = |i: &usize| !trial.y.row(*i).0.is_empty();
    let labelled: Vec<usize> = (0..trial.y.rows()).filter(held).collect();
    let precision = |top: usize, best: &dyn Fn(usize) -> Vec<u32>| {
        let hits = |i: &usize| {
            let truth = trial.y.row(*i).0;
            best(*i).iter().take(top).filter(|label| truth.contains(label)).count() as f64
        };
        labelled.iter().map(hits).sum::<f64>() / (top * labelled.len().max(1)) as f64
    };
    let of_scan = |i: usize| scans[i].best.clone();
    let mut report = ShortlistReport {
        examples: labelled.len() as u64,
        scan_p1: precision(1, &of_scan),
        scan_p5: precision(TOP, &of_scan),
        tried: Vec::new(),
        used: false,
    };
    let mut width = FIRST;
    loop {
        let found = search(scorer, &postings, trial, width);
        let ranked = |i: usize| found[i].best.clone();
        let measured = Measured {
            width,
            scored: found.iter().map(|f| f.labels.len() as f64).sum::<f64>() / found.len().max(1) as f64,
            recall_of_scan: recall(&found, labelled.iter().map(|i| (*i, &scans[*i].best[..]))),
            recall_of_labels: recall(&found, labelled.iter().map(|i| (*i, trial.y.row(*i).0))),
            p1: precision(1, &ranked),
            p5: precision(TOP, &ranked),
        };
        report.tried.push(measured);
        report.used =
            !labelled.is_empty() && measured.p1 >= ENOUGH * report.scan_p1 && measured.p5 >= ENOUGH * report.scan_p5;
        if report.used {
            let rest = (calibration.loss == Loss::Softmax).then(|| {
                let knowns = found.iter().zip(&scans).enumerate().map(|(i, (found, scan))| Observed {
                    h: trial.h.row(i),
                    shortlist: found.log_sum,
                    all: scan.log_sum,
                });
                LogPartition::fit(linear, &postings.shortlist.offsets, calibration, knowns)
            });
            return (Some(postings.finish(width, KEPT * width.probes, rest)), report);
        }
        if width == WIDEST {
            return (None, report);
        }
        width = Width { probes: 2 * width.probes, labels: 2 * width.labels };
    }
}

/// The part of some labels of each example that are on its shortlist.
fn recall<'a>(found: &[Found], wanted: impl Iterator<Item = (usize, &'a [u32])>) -> f64 {
    let (mut hits, mut all) = (0, 0);
    for (i, labels) in wanted {
        hits += labels.iter().filter(|label| found[i].labels.binary_search(label).is_ok()).count();
        all += labels.len();
    }
    hits as f64 / all.max(1) as f64
}

/// The shortlist of an example, ascending, and the best of its labels.
struct Found {
    labels: Vec<u32>,
    best: Vec<u32>,
    /// log Σ exp of the calibrated scores.
    log_sum: f64,
}

fn search(scorer: &Scorer<'_>, postings: &Postings, trial: Trial<'_>, width: Width) -> Vec<Found> {
    let z = scorer.inputs(&trial.h.to_matrix());
    let one = |scratch: &mut SparseAccumulator, i: usize| {
        let truth = trial.y.row(i).0;
        let skip = |at: usize, label: u32| trial.own && postings.once[at] && truth.contains(&label);
        let labels = postings.shortlist.search(trial.x.row(i), width, skip, scratch);
        let (scored, _) = scorer.top_of_some(&labels, z.row(i), TOP);
        let log_sum = scored.log_partition.value();
        Found { best: scored.best.into_ranked().map(|(label, _)| label).collect(), labels, log_sum }
    };
    (0..trial.x.rows()).into_par_iter().with_min_len(16).map_init(SparseAccumulator::default, one).collect()
}

/// The best of all labels for each of the examples.
fn scan(scorer: &Scorer<'_>, trial: &Trial<'_>) -> Vec<Scan> {
    let strip = |strip: usize| {
        let rows = strip * STRIP..trial.h.rows().min((strip + 1) * STRIP);
        let h = trial.h.split_rows_at(rows.start).1.split_rows_at(rows.len()).0.to_matrix();
        let scan = |scored: Scored| Scan {
            log_sum: scored.log_partition.value(),
            best: scored.best.into_ranked().map(|(label, _)| label).collect(),
        };
        scorer.top_of_all(&h, TOP).into_iter().map(scan).collect::<Vec<_>>()
    };
    (0..trial.h.rows().div_ceil(STRIP)).into_par_iter().flat_map_iter(strip).collect()
}
