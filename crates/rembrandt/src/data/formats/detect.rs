//! Which format a file has and how its ids are written, from its first block.

use std::borrow::Cow;

use super::batch::lines_of;
use super::column::IdSyntax;
use super::header::{Header, parse_header};
use super::number;
use super::recognise::recognise_text;
use super::row_builder::FileSyntax;
use super::sparse::{self, Comments};
use super::{Format, Ids, Reading, vw};
use crate::data::Side;
use crate::data::token::show;
use crate::data::vocabulary::{NameIndex, VocabularyIds};
use crate::{Error, Result};

/// The findings of the first block.
#[derive(Debug)]
pub(super) struct Detected {
    pub(super) syntax: FileSyntax,
    pub(super) header: Option<Header>,
    /// Sentences about decisions that the user may want to know of.
    pub(super) notes: Vec<String>,
}

/// Where one in more than so many ids is a word, it is a slip of the pen; unless there are few of them.
const ODD: u64 = 100;
const FEW: u64 = 200;

/// Finds the labels or the features of a line.
type IdsOf = fn(&str, Format) -> Vec<Cow<'_, str>>;

/// Looks at the text of the first block.
pub(super) fn detect(text: &str, reading: &Reading<'_>) -> Result<Detected> {
    let Reading { path, options, vocabulary, .. } = *reading;
    let first_line = text.lines().next().unwrap_or_default();
    if options.format == Format::Auto && vocabulary.is_none() {
        recognise_text(text, "text").check_rows(path)?;
    }
    let header = match options.format {
        Format::Auto | Format::Xmc => parse_header(first_line).map_err(|reason| Error::line(path, 1, reason))?,
        Format::Svmlight | Format::Vw => None,
    };
    let format = match options.format {
        Format::Auto if header.is_some() => Format::Xmc,
        Format::Auto if has_bar(text) => Format::Vw,
        Format::Auto => Format::Svmlight,
        given => given,
    };
    let skip = usize::from(header.is_some());
    // Text is full of numbers, so any id that is none makes words. A header speaks of numbered ids: there the first id
    // decides, and a slip of the pen further down is an error instead of a change of meaning.
    let sample = if header.is_some() { 1 } else { usize::MAX };
    let mut notes = Vec::new();
    let mut decide = |kind: &str, ids_of: IdsOf| match options.ids {
        Ids::Numbers => Ok(false),
        Ids::Words => Ok(true),
        Ids::Auto => {
            let lines = (1u64..).zip(lines_of(text)).skip(skip);
            let mut ids = lines.flat_map(|(line, text)| ids_of(text, format).into_iter().map(move |id| (line, id)));
            let (mut all, mut words, mut word) = (0u64, 0, None);
            for (line, id) in ids.by_ref().take(sample) {
                all += 1;
                if !number::looks_like_id(&id) {
                    words += 1;
                    word.get_or_insert((line, id));
                }
            }
            let Some((line, word)) = word else { return Ok(false) };
            let word = show(&word);
            if all >= FEW && words * ODD < all {
                let reason = format!(
                    "{kind} id {word} is not a number, as nearly all others are; mend it, or have ids read as words"
                );
                return Err(Error::line(path, line, reason));
            }
            notes.push(format!("{kind} ids are read as words, because {word} in line {line} is not a number"));
            Ok(true)
        }
    };
    let mut axis = |side, kind: &'static str, ids_of: IdsOf, promised| {
        let Some(vocabulary) = vocabulary.map(|vocabulary| vocabulary.side(side)) else {
            return Ok(IdSyntax { words: decide(kind, ids_of)?, promised, vocabulary: None });
        };
        if let VocabularyIds::Words(names) = vocabulary
            && options.ids == Ids::Auto
        {
            let mut ids = lines_of(text).skip(skip).flat_map(|line| ids_of(line, format));
            check_words(&mut ids, names, kind).map_err(|reason| Error::file(path, reason))?;
        }
        check_choice(options.ids, vocabulary, kind)?;
        Ok(IdSyntax {
            words: matches!(vocabulary, VocabularyIds::Words(_)),
            promised,
            vocabulary: Some(vocabulary.clone()),
        })
    };
    let labels = axis(Side::Y, "label", label_ids, header.map(|h| h.c))?;
    let features = axis(Side::X, "feature", feature_ids, header.map(|h| h.d))?;
    Ok(Detected { syntax: FileSyntax { format, labels, features }, header, notes })
}

/// Refuses numbers where a model knows words. Words may look like numbers, so numbers that are all known will do.
fn check_words<'t>(ids: &mut dyn Iterator<Item = Cow<'t, str>>, names: &NameIndex, kind: &str) -> Result<(), String> {
    let mut unknown = None;
    for id in ids {
        if !number::looks_like_id(&id) {
            return Ok(());
        }
        if unknown.is_none() && names.id(&id).is_none() {
            unknown = Some(id);
        }
    }
    let Some(id) = unknown else { return Ok(()) };
    // Numbers are words where only those that occur were numbered in training.
    if (0..names.len() as u32).all(|known| names.name(known).is_some_and(number::looks_like_id)) {
        return Ok(());
    }
    Err(format!(
        "{kind} ids such as {} are numbers, but the model knows its {kind}s by words; give data of the kind that it was \
         trained on, or read ids as words",
        show(&id)
    ))
}

/// Refuses ids that were chosen to be read otherwise than the model knows them.
fn check_choice(chosen: Ids, vocabulary: &VocabularyIds, kind: &str) -> Result<()> {
    let (by, other) = match (chosen, vocabulary) {
        (Ids::Numbers, VocabularyIds::Words(_)) => ("words", "numbers"),
        (Ids::Words, VocabularyIds::Numbers(_)) => ("number", "words"),
        _ => return Ok(()),
    };
    Err(Error::parameter("ids", format!("the model knows its {kind}s by {by}, so they cannot be read as {other}")))
}

/// Whether the first line that says anything contains a bar.
fn has_bar(text: &str) -> bool {
    let mut lines = lines_of(text).map(|line| sparse::strip_comment(line, Comments::BetweenTokens));
    lines.find(|line| !line.trim().is_empty()).is_some_and(|line| line.contains('|'))
}

/// The labels of a line, as written.
fn label_ids(line: &str, format: Format) -> Vec<Cow<'_, str>> {
    let list = match format {
        Format::Vw => vw::split_line(line).and_then(|(head, _)| vw::label_list(head)),
        _ => sparse::split_labels(without_comment(line, format)).0,
    };
    list.into_iter().flat_map(|list| list.split(',')).filter(|id| !id.is_empty()).map(Cow::from).collect()
}

/// The features of a line, as written.
fn feature_ids(line: &str, format: Format) -> Vec<Cow<'_, str>> {
    if format == Format::Vw {
        let tail = vw::split_line(line).map_or("", |(_, tail)| tail);
        let ids = vw::namespaces(tail).flat_map(|(namespace, _, features)| {
            features.map(move |token| match vw::split_feature(token).0 {
                name if namespace.is_empty() || name.is_empty() => name.into(),
                name => format!("{namespace}^{name}").into(),
            })
        });
        return ids.filter(|id: &Cow<'_, str>| !id.is_empty()).collect();
    }
    let features = sparse::split_labels(without_comment(line, format)).1;
    let mut tokens = features.split([' ', '\t']).filter(|token| !token.is_empty()).peekable();
    if format == Format::Svmlight {
        tokens.next_if(|token| token.starts_with("qid:"));
    }
    tokens
        .map(|token| token.rsplit_once(':').map_or(token, |(id, _)| id))
        .filter(|id| !id.is_empty())
        .map(Cow::from)
        .collect()
}

fn without_comment(line: &str, format: Format) -> &str {
    sparse::strip_comment(line, if format == Format::Xmc { Comments::None } else { Comments::Anywhere })
}
