//! The grammar that XMC and svmlight files share: `label,label id:value id:value …`.

use super::column::finite;
use super::number;
use super::row_builder::RowBuilder;
use crate::data::token::show;

/// Where `#` begins a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comments {
    /// Nowhere; and blank lines are examples.
    None,
    /// At the beginning of a token; blank lines are skipped.
    BetweenTokens,
    /// Anywhere; blank lines are skipped.
    Anywhere,
}

fn is_space(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// Splits off the labels: the first token, unless a space comes before it or a colon is in it.
pub(super) fn split_labels(line: &str) -> (Option<&str>, &str) {
    let end = line.bytes().position(is_space).unwrap_or(line.len());
    let (first, rest) = line.split_at(end);
    if first.is_empty() || first.bytes().any(|b| b == b':') { (None, line) } else { (Some(first), rest) }
}

/// Cuts the comment off a line.
pub(super) fn strip_comment(line: &str, comments: Comments) -> &str {
    let starts_comment = |at: usize| comments == Comments::Anywhere || at == 0 || is_space(line.as_bytes()[at - 1]);
    match comments {
        Comments::None => line,
        _ => line.match_indices('#').find(|(at, _)| starts_comment(*at)).map_or(line, |(at, _)| &line[..at]),
    }
}

/// Parses one line into a row of the batch.
pub(super) fn parse_line(line: &str, comments: Comments, batch: &mut RowBuilder) -> Result<(), String> {
    let line = strip_comment(line, comments);
    if line.bytes().all(is_space) {
        if comments == Comments::None {
            batch.blank();
        }
        return Ok(());
    }
    let (labels, rest) = split_labels(line);
    if let Some(list) = labels {
        batch.label_list(list)?;
    }
    let bytes = rest.as_bytes();
    let numbers = !batch.features.is_words();
    let mut may_be_query = comments != Comments::None;
    let mut at = 0;
    loop {
        while at < bytes.len() && is_space(bytes[at]) {
            at += 1;
        }
        if at == bytes.len() {
            return batch.end_row();
        }
        if numbers && let Some((number, value, length)) = plain_feature(&bytes[at..]) {
            let id = batch.features.number(number)?;
            batch.feature(id, value);
            at += length;
        } else {
            let end = bytes[at..].iter().position(|b| is_space(*b)).map_or(bytes.len(), |length| at + length);
            let token = &rest[at..end];
            if !(may_be_query && token.starts_with("qid:")) {
                any_feature(token, batch)?;
            }
            at = end;
        }
        may_be_query = false;
    }
}

/// `id:value` at the start of `bytes` in its usual form, with its length; `None` when a closer look is needed.
#[inline(always)]
fn plain_feature(bytes: &[u8]) -> Option<(u64, f32, usize)> {
    let (number, digits) = number::digits(bytes);
    if digits == 0 || digits > 10 || bytes.get(digits) != Some(&b':') {
        return None;
    }
    let (value, length) = number::float_prefix(&bytes[digits + 1..])?;
    let end = digits + 1 + length;
    bytes.get(end).is_none_or(|b| is_space(*b)).then_some((number, value, end))
}

/// A feature in any form, right or wrong.
fn any_feature(token: &str, batch: &mut RowBuilder) -> Result<(), String> {
    let (name, value) = match token.rsplit_once(':') {
        Some((name, value)) => (name, Some(value)),
        None => (token, None),
    };
    if name.is_empty() {
        return Err(format!("{} has no feature before the colon", show(token)));
    }
    if value.is_none() && !batch.features.is_words() {
        return Err(format!("missing colon in feature {}; write id:value", show(token)));
    }
    let id = batch.features.id(name)?;
    let value = value.map_or(Ok(1.0), |value| finite(value, || format!("the value of feature {}", show(name))))?;
    batch.feature(id, value);
    Ok(())
}
