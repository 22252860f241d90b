//! Fitting: one pass that counts in how many texts every feature occurs.

use rayon::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::params::{FeaturizerParams, Hashing, Weighting};
use super::words::Words;
use super::{Featurizer, FeaturizerParts, RecordOptions};
use crate::data::word_table::WordTable;
use crate::{Error, Result};

/// Texts that one task counts. A part of the result when counts are pruned, so it does not depend on threads.
const TEXTS_PER_TASK: usize = 512;

/// Names that are counted at a time unless said otherwise: about a gigabyte with pairs of words.
const NAMES: usize = 1 << 24;

/// The number and sign that a name hashes to.
#[inline]
pub(super) fn hashed(name: &str, hashing: Hashing) -> (u32, bool) {
    let hash = xxh3_64(name.as_bytes());
    ((hash & ((1 << hashing.bits) - 1)) as u32, hashing.signed && hash >> 63 == 1)
}

/// idf = ln((1 + n) / (1 + df)) + 1.
pub(super) fn idf(n: u64, df: u64) -> f32 {
    (((1 + n) as f64 / (1 + df) as f64).ln() + 1.0) as f32
}

/// Counts texts as they come, then makes a [`Featurizer`].
///
/// Counting uses rayon's current pool; the result does not depend on the number of threads. Memory is that of the
/// distinct names. When they exceed a limit, the rarest are dropped until at most half as many are left: those of one
/// text first, and more only if that is not enough. A name that comes again is counted anew, so that counts may then
/// fall short, by [`undercount`](FeatureCounts::undercount) at most. Only then does it matter how the texts were cut into
/// calls of [`add`](FeatureCounts::add).
///
/// ```
/// use rembrandt::data::featurizer::{FeatureCounts, FeaturizerParams};
/// let mut counts = FeatureCounts::new(FeaturizerParams::default())?;
/// counts.add(&["red wine", "white wine"]);
/// counts.add(&["red paint"]);
/// let featurizer = counts.finish()?;
/// assert_eq!(featurizer.names().collect::<Vec<_>>(), ["red", "wine"]);
/// # Ok::<(), rembrandt::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FeatureCounts {
    params: FeaturizerParams,
    n: u64,
    table: TermCounts,
    /// Texts that each number of a hash stands for occurs in.
    hashed: Vec<u32>,
    limit: usize,
    undercount: u64,
}

impl FeatureCounts {
    /// Nothing counted yet.
    ///
    /// # Errors
    /// If the parameters are bad.
    pub fn new(params: FeaturizerParams) -> Result<FeatureCounts> {
        params.check()?;
        let hashed = match params.hashing {
            Some(hashing) if params.weighting == Weighting::TfIdf => vec![0; 1 << hashing.bits],
            _ => Vec::new(),
        };
        Ok(FeatureCounts { params, n: 0, table: TermCounts::default(), hashed, limit: NAMES, undercount: 0 })
    }

    /// Changes the number of distinct names above which the rarest are dropped, 2²⁴ otherwise.
    pub fn limit(mut self, names: usize) -> FeatureCounts {
        self.limit = names.clamp(2, u32::MAX as usize / 2);
        self
    }

    /// Counts some texts, in parallel.
    pub fn add<T: AsRef<str> + Sync>(&mut self, texts: &[T]) {
        self.n += texts.len() as u64;
        match self.params.hashing {
            Some(_) if self.hashed.is_empty() => {}
            Some(hashing) => self.add_hashed(texts, hashing),
            None => self.add_named(texts),
        }
    }

    fn add_named<T: AsRef<str> + Sync>(&mut self, texts: &[T]) {
        // A few tasks at a time, so that memory stays that of the names and not of all texts of a large call.
        for some in texts.chunks(TEXTS_PER_TASK * 64) {
            let params = &self.params;
            let count = |texts: &[T]| {
                let (mut table, mut words, mut last) = (TermCounts::default(), Words::default(), Vec::new());
                for (text, number) in texts.iter().zip(1u32..) {
                    words.each(text.as_ref(), params, |name| table.meet(name, number, &mut last));
                }
                table
            };
            let tables: Vec<TermCounts> = some.par_chunks(TEXTS_PER_TASK).map(count).collect();
            for table in tables {
                self.table.merge(&table);
                if self.table.names.len() > self.limit {
                    self.undercount += self.table.prune(self.limit / 2);
                }
            }
        }
    }

    fn add_hashed<T: AsRef<str> + Sync>(&mut self, texts: &[T], hashing: Hashing) {
        for some in texts.chunks(TEXTS_PER_TASK * 64) {
            let params = &self.params;
            let count = |texts: &[T]| {
                let (mut words, mut all, mut ids) = (Words::default(), Vec::new(), Vec::new());
                for text in texts {
                    words.each(text.as_ref(), params, |name| ids.push(hashed(name, hashing).0));
                    ids.sort_unstable();
                    ids.dedup();
                    all.append(&mut ids);
                }
                all
            };
            let numbers: Vec<Vec<u32>> = some.par_chunks(TEXTS_PER_TASK).map(count).collect();
            for id in numbers.into_iter().flatten() {
                self.hashed[id as usize] = self.hashed[id as usize].saturating_add(1);
            }
        }
    }

    /// Texts counted so far.
    pub fn texts(&self) -> u64 {
        self.n
    }

    /// By how much the count of any name may fall short, because rare names were dropped on the way; 0 when none were.
    pub fn undercount(&self) -> u64 {
        self.undercount
    }

    /// Chooses the features and numbers them: those of most texts first, equals by name.
    ///
    /// # Errors
    /// If no feature is left.
    pub fn finish(self) -> Result<Featurizer> {
        let FeatureCounts { params, n, table, hashed, .. } = self;
        let tf_idf = params.weighting == Weighting::TfIdf;
        if params.hashing.is_some() {
            let idf = hashed.iter().map(|df| idf(n, u64::from(*df))).collect();
            return Featurizer::from_parts(FeaturizerParts {
                params,
                texts: n,
                names: Vec::new(),
                idf,
                records: RecordOptions::default(),
            });
        }
        let most = params.max_df * n as f64;
        let mut kept: Vec<(u64, &str)> = table.dfs.iter().map(|df| u64::from(*df)).zip(table.names.words()).collect();
        kept.retain(|(df, _)| *df >= params.min_df && *df as f64 <= most);
        kept.par_sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
        kept.truncate(params.max_features.unwrap_or(usize::MAX));
        if kept.is_empty() {
            let reason = format!(
                "no feature is left: of {} different ones in {n} texts, none is in at least {} and at most {:.0}; \
                 change min_df or max_df",
                table.names.len(),
                params.min_df,
                most.floor()
            );
            return Err(Error::Data(reason));
        }
        let idf = if tf_idf { kept.iter().map(|(df, _)| idf(n, *df)).collect() } else { Vec::new() };
        let names = kept.iter().map(|(_, name)| (*name).to_owned()).collect();
        Featurizer::from_parts(FeaturizerParts { params, texts: n, names, idf, records: RecordOptions::default() })
    }
}

/// Names and the number of texts that have them.
#[derive(Clone, Debug, Default)]
struct TermCounts {
    names: WordTable,
    dfs: Vec<u32>,
}

impl TermCounts {
    /// Counts a name once per text; `last` is the number of the text that had each name last.
    #[inline]
    fn meet(&mut self, name: &str, text: u32, last: &mut Vec<u32>) {
        // A task has too few texts to run out of numbers; a name beyond them would only not be counted.
        let Some(id) = self.names.id(name) else { return };
        let id = id as usize;
        if id == self.dfs.len() {
            self.dfs.push(0);
            last.push(0);
        }
        if last[id] != text {
            last[id] = text;
            self.dfs[id] += 1;
        }
    }

    fn merge(&mut self, other: &TermCounts) {
        for (name, df) in other.names.words().zip(&other.dfs) {
            let Some(id) = self.names.id(name) else { return };
            match self.dfs.get_mut(id as usize) {
                Some(sum) => *sum = sum.saturating_add(*df),
                None => self.dfs.push(*df),
            }
        }
    }

    /// Keeps at most `most` names, all of those above some count; returns the largest count dropped.
    fn prune(&mut self, most: usize) -> u64 {
        let mut sorted = self.dfs.clone();
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let floor = sorted.get(most).copied().unwrap_or(0);
        let mut kept = TermCounts::default();
        for (name, df) in self.names.words().zip(&self.dfs).filter(|(_, df)| **df > floor) {
            if kept.names.id(name).is_some() {
                kept.dfs.push(*df);
            }
        }
        *self = kept;
        floor.into()
    }
}
