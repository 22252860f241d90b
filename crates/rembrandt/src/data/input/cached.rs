//! Cache files as input for prediction: their ids are translated to those of the model.

use std::path::Path;

use super::{Input, InputSink};
use crate::data::vocabulary::Numbering;
use crate::data::{Dataset, Examples, NameIndex, Side, Vocabulary, VocabularyIds};
use crate::linalg::csr::{Csr, CsrRef};
use crate::{Error, Result, Run};

/// Streams a cache file, a chunk at a time.
pub(super) fn read(path: &Path, vocabulary: &Vocabulary, run: &mut Run<'_>, sink: &mut InputSink<'_>) -> Result<u64> {
    let data = Dataset::open(path)?;
    let new_ids = |side| NewIds::find(&data, side, vocabulary).map_err(|reason| Error::file(path, reason));
    let (features, labels) = (new_ids(Side::X)?, new_ids(Side::Y)?);
    let (mut n, mut chunks) = (0, 0);
    data.for_each_chunk(|chunk| {
        let (x, y) = (chunk.side(Side::X).rows, chunk.side(Side::Y).rows);
        let (own_x, own_y) = (features.apply(x), labels.apply(y));
        let (x, y) = (own_x.as_ref().map_or(x, Csr::view), own_y.as_ref().map_or(y, Csr::view));
        n += x.rows() as u64;
        sink(Input::Rows { x, y, weights: chunk.weights })?;
        chunks += 1;
        let done = (u128::from(data.bytes()) * chunks / data.chunks() as u128) as u64;
        run.read(done, Some(data.bytes()))
    })?;
    Ok(n)
}

/// The translation of the ids of one side.
enum NewIds {
    /// Nothing.
    Same,
    /// Those from this one on are dropped.
    Below(u32),
    /// Each has a new one, or none and is dropped.
    By(Vec<Option<u32>>),
}

impl NewIds {
    fn find(data: &Dataset, side: Side, vocabulary: &Vocabulary) -> Result<NewIds, String> {
        let (kind, names) = match side {
            Side::X => ("feature", data.feature_names()),
            Side::Y => ("label", data.label_names()),
        };
        match (vocabulary.side(side), names) {
            (VocabularyIds::Numbers(_), Some(_)) if data.has_words(side) => Err(format!(
                "{kind} ids are words, but the model knows its {kind}s by number; give data of the kind that it was \
                 trained on"
            )),
            (VocabularyIds::Numbers(count), _) => match u32::try_from(*count) {
                Ok(count) if side == Side::X && data.shape().d > count as usize => Ok(NewIds::Below(count)),
                _ => Ok(NewIds::Same),
            },
            (VocabularyIds::Words(index), Some(names)) => NewIds::by_name(side, index, names),
            // A side without columns has nothing to name.
            (VocabularyIds::Words(_), None) if data.shape().width(side) == 0 => Ok(NewIds::Same),
            (VocabularyIds::Words(_), None) => Err(format!(
                "{kind} ids are numbers, but the model knows its {kind}s by words; give data of the kind that it was \
                 trained on"
            )),
        }
    }

    fn by_name(side: Side, index: &NameIndex, names: &[String]) -> Result<NewIds, String> {
        // Two ids of one name would become the same id twice in a row.
        NameIndex::new(names).map_err(|error| error.to_string())?;
        if side == Side::X {
            return Ok(NewIds::By(names.iter().map(|name| index.id(name)).collect()));
        }
        let mut numbering = Numbering::after(index.clone());
        let ids = names.iter().map(|name| numbering.id(name).map(Some));
        let too_many = || "there are too many different labels".to_owned();
        Ok(NewIds::By(ids.collect::<Option<_>>().ok_or_else(too_many)?))
    }

    /// The rows with the new ids, unless they are the same.
    fn apply(&self, rows: CsrRef<'_>) -> Option<Csr> {
        let new: &dyn Fn(usize) -> Option<u32> = match self {
            NewIds::Same => return None,
            NewIds::Below(end) => &|id| Some(id as u32).filter(|id| id < end),
            NewIds::By(ids) => &|id| ids[id],
        };
        let (mut out, mut row) = (Csr::new(rows.values.is_none()), Vec::new());
        for i in 0..rows.rows() {
            row.extend(rows.entries(i).filter_map(|(id, value)| Some((new(id)?, value))));
            row.sort_unstable_by_key(|entry: &(u32, f32)| entry.0);
            row.drain(..).for_each(|(id, value)| out.push(id, value));
            out.end_row();
        }
        Some(out)
    }
}
