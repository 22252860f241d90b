//! Records read with the vocabulary of a model, which has numbered its labels already.

use std::io::Read;
use std::path::Path;

use super::{RecordOptions, RecordSummary, Records, read_records, read_records_from};
use crate::data::NameIndex;
use crate::data::vocabulary::Numbering;
use crate::linalg::csr::{Csr, CsrRef};
use crate::{Error, Result, Run};

/// Takes batches of records in the order of the file, with the numbers of their labels: ascending, a row for each record.
pub type NumberedRecordSink<'a> = dyn FnMut(&Records, CsrRef<'_>) -> Result<()> + 'a;

/// Like [`read_records`], with labels numbered by a model: for texts to predict or to evaluate on.
///
/// Labels that the model does not know get the numbers after those it knows, in the order of first appearance; only
/// with those does memory grow.
///
/// ```
/// use rembrandt::Run;
/// use rembrandt::data::NameIndex;
/// use rembrandt::data::records::{RecordOptions, read_records_with_vocabulary_from};
/// let known = NameIndex::new(["wine", "paint"])?;
/// let file = "text,labels\nred,\"paint,lip stick,wine\"\nwhite,\n";
/// let mut found = Vec::new();
/// read_records_with_vocabulary_from(
///     file.as_bytes(),
///     "reds.csv".as_ref(),
///     &RecordOptions::default(),
///     &known,
///     &mut Run::default(),
///     &mut |records, labels| {
///         (0..records.len()).for_each(|i| found.push((records.text(i).to_owned(), labels.row(i).0.to_vec())));
///         Ok(())
///     },
/// )?;
/// assert_eq!(found, [("red".to_owned(), vec![0, 1, 2]), ("white".to_owned(), vec![])]);
/// # Ok::<(), rembrandt::Error>(())
/// ```
///
/// # Errors
/// As [`read_records`].
pub fn read_records_with_vocabulary(
    path: &Path,
    options: &RecordOptions,
    names: &NameIndex,
    run: &mut Run<'_>,
    sink: &mut NumberedRecordSink<'_>,
) -> Result<RecordSummary> {
    let mut labels = Numbering::after(names.clone());
    read_records(path, options, run, &mut |records| {
        let ids = label_ids(&records, &mut labels, path)?;
        sink(&records, ids.view())
    })
}

/// Like [`read_records_with_vocabulary`], from any reader; `name` stands for the file in messages.
///
/// # Errors
/// As [`read_records_with_vocabulary`].
pub fn read_records_with_vocabulary_from(
    reader: impl Read + Send,
    name: &Path,
    options: &RecordOptions,
    names: &NameIndex,
    run: &mut Run<'_>,
    sink: &mut NumberedRecordSink<'_>,
) -> Result<RecordSummary> {
    let mut labels = Numbering::after(names.clone());
    read_records_from(reader, name, options, run, &mut |records| {
        let ids = label_ids(&records, &mut labels, name)?;
        sink(&records, ids.view())
    })
}

/// The numbers of the labels of each record, ascending.
pub(in crate::data) fn label_ids(records: &Records, labels: &mut Numbering, path: &Path) -> Result<Csr> {
    let too_many = || Error::file(path, format!("there are more than {} different labels", u32::MAX - 1));
    let (mut rows, mut ids) = (Csr::new(true), Vec::new());
    for i in 0..records.len() {
        for label in records.labels(i) {
            ids.push(labels.id(label).ok_or_else(too_many)?);
        }
        ids.sort_unstable();
        ids.drain(..).for_each(|id| rows.push(id, 1.0));
        rows.end_row();
    }
    Ok(rows)
}
