//! Which format a file has and how its ids are written, from its first block.

use std::path::Path;

use super::batch::{Axis, Syntax, lines_of, show};
use super::number;
use super::sparse::{self, Comments};
use super::{Format, Ids, ReadOptions, vw};
use crate::{Error, Result};

/// The first line of an XMC file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) n: u64,
    pub(super) d: u32,
    pub(super) c: u32,
}

/// What the first block says about the file.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) syntax: Syntax,
    pub(super) header: Option<Header>,
    /// Sentences about decisions that the user may want to know of.
    pub(super) notes: Vec<String>,
}

/// Looks at the text of the first block. `path` is for errors.
pub(super) fn detect(text: &str, options: &ReadOptions, path: &Path) -> Result<Found> {
    let first_line = text.lines().next().unwrap_or_default();
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
    let lines = || lines_of(text).skip(skip);
    let mut notes = Vec::new();
    let mut decide = |kind: &str, word: &dyn Fn() -> Option<String>| match options.ids {
        Ids::Numbers => false,
        Ids::Words => true,
        Ids::Auto => match word() {
            Some(word) => {
                notes.push(format!("{kind} ids are read as words, because {} is not a number", show(&word)));
                true
            }
            None => false,
        },
    };
    let (labels, features) = match format {
        Format::Vw => (
            decide("label", &|| lines().find_map(vw_label_word)),
            decide("feature", &|| lines().find_map(vw_feature_word)),
        ),
        _ => {
            let comments = if format == Format::Xmc { Comments::None } else { Comments::Anywhere };
            let lines = || lines().map(|line| sparse::strip_comment(line, comments));
            (
                decide("label", &|| lines().find_map(sparse_label_word)),
                decide("feature", &|| lines().find_map(|line| sparse_feature_word(line, comments))),
            )
        }
    };
    let axis = |words, promised| Axis { words, promised };
    let labels = axis(labels, header.map(|h| h.c));
    let features = axis(features, header.map(|h| h.d));
    Ok(Found { syntax: Syntax { format, labels, features }, header, notes })
}

/// Three integers and nothing else make a header.
fn parse_header(line: &str) -> Result<Option<Header>, String> {
    let tokens: Vec<&str> = line.split_ascii_whitespace().take(4).collect();
    let [n, d, c] = tokens[..] else { return Ok(None) };
    if tokens.iter().any(|token| !token.bytes().all(|b| b.is_ascii_digit())) {
        return Ok(None);
    }
    let width = |letter, token: &str| {
        let too_large = || format!("the header says {letter} = {}, which is more than {}", show(token), u32::MAX);
        token.parse().map_err(|_| too_large())
    };
    let n = n.parse().map_err(|_| format!("the header says n = {}, which is too large", show(n)))?;
    Ok(Some(Header { n, d: width('d', d)?, c: width('c', c)? }))
}

/// Whether the first line that says anything contains a bar.
fn has_bar(text: &str) -> bool {
    let mut lines = lines_of(text).map(|line| sparse::strip_comment(line, Comments::BetweenTokens));
    lines.find(|line| !line.trim().is_empty()).is_some_and(|line| line.contains('|'))
}

fn not_an_id(token: &str) -> Option<String> {
    (!token.is_empty() && !number::looks_like_id(token)).then(|| token.to_owned())
}

fn sparse_label_word(line: &str) -> Option<String> {
    sparse::split_labels(line.trim_end()).0?.split(',').find_map(not_an_id)
}

fn sparse_feature_word(line: &str, comments: Comments) -> Option<String> {
    let features = sparse::split_labels(line.trim_end()).1;
    let mut tokens = features.split_ascii_whitespace().enumerate();
    tokens.find_map(|(i, token)| {
        let query = i == 0 && comments != Comments::None && token.starts_with("qid:");
        let name = token.rsplit_once(':').map_or(token, |(name, _)| name);
        if query { None } else { not_an_id(name) }
    })
}

fn vw_label_word(line: &str) -> Option<String> {
    let (head, _) = vw::split_line(line)?;
    vw::label_list(head)?.split(',').find_map(not_an_id)
}

fn vw_feature_word(line: &str) -> Option<String> {
    let (_, tail) = vw::split_line(line)?;
    vw::namespaces(tail).find_map(|(namespace, _, mut features)| {
        if namespace.is_empty() {
            features.find_map(|token| not_an_id(vw::split_feature(token).0))
        } else {
            features.next().map(|token| format!("{namespace}^{token}"))
        }
    })
}
