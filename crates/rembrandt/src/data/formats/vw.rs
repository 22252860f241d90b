//! Vowpal Wabbit: `label [importance] ['tag]|namespace feature:value feature |namespace …`.

use super::column::finite;
use super::number;
use super::row_builder::RowBuilder;
use crate::data::token::show;

const SPACES: [char; 2] = [' ', '\t'];

fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(SPACES).filter(|token| !token.is_empty())
}

/// Splits a line at its first bar: labels and the like, then namespaces.
pub(super) fn split_line(line: &str) -> Option<(&str, &str)> {
    line.split_once('|')
}

/// The labels before the bar, if any.
pub(super) fn label_list(head: &str) -> Option<&str> {
    tokens(head).next().filter(|token| !token.starts_with('\''))
}

/// The namespaces after the first bar: name, weight as written, and features.
pub(super) fn namespaces(tail: &str) -> impl Iterator<Item = (&str, Option<&str>, impl Iterator<Item = &str>)> {
    tail.split('|').map(|section| {
        let (head, features) = section.split_at(section.find(SPACES).unwrap_or(section.len()));
        match head.rsplit_once(':') {
            Some((name, weight)) => (name, Some(weight), tokens(features)),
            None => (head, None, tokens(features)),
        }
    })
}

/// The name of a feature and its value as written.
pub(super) fn split_feature(token: &str) -> (&str, Option<&str>) {
    token.rsplit_once(':').map_or((token, None), |(name, value)| (name, Some(value)))
}

/// Parses one line into a row of the batch; a blank line is none.
pub(super) fn parse_line(line: &str, batch: &mut RowBuilder) -> Result<(), String> {
    if tokens(line).next().is_none() {
        return Ok(());
    }
    let Some((head, tail)) = split_line(line) else {
        return Err("missing | between the labels and the features".into());
    };
    parse_head(head, batch)?;
    let mut full = String::new();
    for (namespace, weight, features) in namespaces(tail) {
        let weight = weight
            .map_or(Ok(1.0), |weight| finite(weight, || format!("the weight of namespace {}", show(namespace))))?;
        if !namespace.is_empty() && !batch.features.is_words() {
            let (namespace, remedy) = (show(namespace), batch.features.words_remedy());
            return Err(format!("namespace {namespace} makes features words; {remedy}"));
        }
        for token in features {
            let (name, value) = split_feature(token);
            if name.is_empty() {
                return Err(format!("{} has no feature before the colon", show(token)));
            }
            let value = value
                .map_or(Ok(1.0), |value| finite(value, || format!("the value of feature {}", show(name))))?
                * weight;
            if !value.is_finite() {
                return Err(format!("the weighted value of feature {} is too large for a 32-bit number", show(name)));
            }
            let id = if namespace.is_empty() {
                batch.features.id(name)?
            } else {
                full.clear();
                full.extend([namespace, "^", name]);
                batch.features.id(&full)?
            };
            batch.feature(id, value);
        }
    }
    batch.end_row()
}

/// The part before the bar: labels, importance, tag.
fn parse_head(head: &str, batch: &mut RowBuilder) -> Result<(), String> {
    let touches_bar = !head.is_empty() && !head.ends_with(SPACES);
    let mut words = tokens(head).peekable();
    let mut place = 0;
    while let Some(word) = words.next() {
        let last = words.peek().is_none();
        if last && word.starts_with('\'') {
            return Ok(());
        }
        // Vowpal Wabbit takes any word that touches the bar for a tag, so a label there would be lost in silence.
        if last && touches_bar {
            if place == 0 || number::float(word).is_some() {
                return Err(format!("{} touches the |, which makes it a tag; put a space between them", show(word)));
            }
            return Ok(());
        }
        match place {
            0 if word.contains(':') => {
                let word = show(word);
                return Err(format!("{word} is a label with a cost, which is not supported; write the labels alone"));
            }
            0 => batch.label_list(word)?,
            1 => batch.weight(importance(word)?),
            _ => return Err(format!("{} is not expected before the |; write label importance 'tag|", show(word))),
        }
        place += 1;
    }
    Ok(())
}

fn importance(word: &str) -> Result<f32, String> {
    let weight = finite(word, || "the importance".into())?;
    // Also turns a negative zero into zero.
    if weight < 0.0 {
        Err(format!("the importance is {}; it must not be negative", show(word)))
    } else {
        Ok(weight + 0.0)
    }
}
