//! [`Vocabulary`]: the features and labels that a model has numbered, by which files for it are read.
//!
//! A feature outside of the vocabulary is dropped while its line is parsed: the model can say nothing about it, and new
//! words must not fill the memory. A label outside of it is kept, under a number that no prediction has, so that it counts
//! as missed.

use std::sync::Arc;

use super::Side;
use super::token::show;
use super::word_table::WordTable;
use crate::{Error, Result};

/// Names and their numbers, for looking up. Clones share the names.
///
/// ```
/// use rembrandt::data::NameIndex;
/// let index = NameIndex::new(["sports", "news"])?;
/// assert_eq!((index.id("news"), index.id("vote")), (Some(1), None));
/// assert_eq!(index.name(0), Some("sports"));
/// assert!(NameIndex::new(["a", "a"]).is_err());
/// # Ok::<(), rembrandt::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct NameIndex {
    names: Arc<WordTable>,
}

impl NameIndex {
    /// Numbers the names from 0, in their order.
    ///
    /// # Errors
    /// If a name occurs twice, or there are 2³² − 1 or more.
    pub fn new<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Result<NameIndex> {
        let mut index = WordTable::default();
        for name in names {
            let (name, next) = (name.as_ref(), index.len());
            match index.id(name) {
                Some(id) if id as usize == next => {}
                Some(_) => return Err(Error::Data(format!("the name {} is given twice", show(name)))),
                None => return Err(Error::Data(format!("there are more than {} names", u32::MAX - 1))),
            }
        }
        Ok(NameIndex { names: Arc::new(index) })
    }

    /// The number of a name.
    #[inline]
    pub fn id(&self, name: &str) -> Option<u32> {
        self.names.find(name)
    }

    /// The name with a number.
    pub fn name(&self, id: u32) -> Option<&str> {
        ((id as usize) < self.len()).then(|| self.names.word(id))
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The ids of one side of a [`Vocabulary`].
#[derive(Clone, Debug)]
pub enum VocabularyIds {
    /// Numbers below this.
    Numbers(usize),
    /// Words.
    Words(NameIndex),
}

impl VocabularyIds {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            VocabularyIds::Numbers(count) => *count,
            VocabularyIds::Words(names) => names.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The ids of a model, for both sides: what [`read_rows_with_vocabulary`](super::formats::read_rows_with_vocabulary) reads by.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The features; others are dropped.
    pub features: VocabularyIds,
    /// The labels; others get numbers from [`len`](VocabularyIds::len) on, different ones for different labels.
    pub labels: VocabularyIds,
}

impl Vocabulary {
    pub(super) fn side(&self, side: Side) -> &VocabularyIds {
        match side {
            Side::X => &self.features,
            Side::Y => &self.labels,
        }
    }
}

/// Numbers words as they come, after those of a vocabulary.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbering {
    known: NameIndex,
    /// How many are known: the number of the first that is not.
    first: u32,
    new: WordTable,
}

impl Numbering {
    pub(super) fn after(known: NameIndex) -> Numbering {
        Numbering { first: known.len() as u32, known, new: WordTable::default() }
    }

    /// The number of a word, a new one when it is new; `None` when all numbers below 2³² − 1 are taken.
    #[inline]
    pub(super) fn id(&mut self, word: &str) -> Option<u32> {
        // Training reads without known words, and words are most of its work.
        if self.first == 0 {
            return self.new.id(word);
        }
        let new = |id: u32| id.checked_add(self.first).filter(|id| *id < u32::MAX);
        self.known.id(word).or_else(|| self.new.id(word).and_then(new))
    }

    /// The word with a number that was given.
    pub(super) fn word(&self, id: u32) -> &str {
        self.known.name(id).unwrap_or_else(|| self.new.word(id - self.first))
    }

    /// The words that are known.
    pub(super) fn known(&self) -> &NameIndex {
        &self.known
    }

    /// The words that were not known, in the order of their numbers.
    pub(super) fn new_words(&self) -> impl Iterator<Item = &str> {
        self.new.words()
    }

    /// How many words were not known.
    pub(super) fn new_len(&self) -> usize {
        self.new.len()
    }

    /// All words in the order of their numbers.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        self.known.names.words().chain(self.new.words())
    }
}
