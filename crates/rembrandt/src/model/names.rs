//! Names of labels and features, and how a label is found by what a person types.

use rayon::prelude::*;
use safetensors::Dtype;

use super::container::{Container, damaged};
use crate::{Error, Result};

/// Names offered when a label is not found.
const SUGGESTIONS: usize = 3;

/// Names by id, in one piece of text: quick to read from a file, even when there are millions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelNames {
    /// One name per line, each line with its end.
    text: String,
    /// Where each name ends.
    ends: Vec<usize>,
}

impl<T: AsRef<str>> FromIterator<T> for ModelNames {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> ModelNames {
        let mut all = ModelNames::default();
        names.into_iter().for_each(|name| all.push(name.as_ref()));
        all
    }
}

impl ModelNames {
    fn new(text: String) -> ModelNames {
        let ends = line_ends(text.as_bytes());
        ModelNames { text, ends }
    }

    /// Reads the names that a file may have.
    pub(super) fn read(file: &Container<'_>, key: &str, count: usize) -> Result<Option<ModelNames>> {
        let Some((_, bytes)) = file.tensor(key, Dtype::U8) else { return Ok(None) };
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Err(damaged(file.path, &format!("its {key} are not text")));
        };
        let names = ModelNames::new(text.to_owned());
        if names.len() != count || names.text.len() != names.ends.last().map_or(0, |end| end + 1) {
            return Err(damaged(file.path, &format!("it has {} {key} for {count}", names.len())));
        }
        Ok(Some(names))
    }

    /// Adds a name.
    pub(crate) fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
        self.text.push('\n');
    }

    /// Refuses names that do not fit on a line.
    pub(super) fn check(&self, key: &'static str) -> Result<()> {
        check(key, self.iter())
    }

    /// Number of names.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name with number `id`.
    ///
    /// # Panics
    /// If there is no such name.
    pub fn name(&self, id: usize) -> &str {
        let start = if id == 0 { 0 } else { self.ends[id - 1] + 1 };
        &self.text[start..self.ends[id]]
    }

    /// All names, in the order of ids.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|id| self.name(id))
    }

    /// One name per line, each with its end.
    pub(super) fn text(&self) -> &str {
        &self.text
    }
}

/// Where lines end.
fn line_ends(bytes: &[u8]) -> Vec<usize> {
    bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at).collect()
}

/// Refuses names that do not fit on a line.
pub(super) fn check(key: &'static str, mut names: impl Iterator<Item = impl AsRef<str>>) -> Result<()> {
    match names.find(|name| name.as_ref().contains('\n')) {
        Some(name) => Err(Error::parameter(key, format!("{:?} contains the end of a line: rename it", name.as_ref()))),
        None => Ok(()),
    }
}

/// The id of a label given by its exact name or, if no label is named so, by its id.
pub(super) fn find_label<'n>(text: &str, count: usize, name: Option<impl Fn(usize) -> &'n str + Sync>) -> Result<u32> {
    if let Some(id) = name.as_ref().and_then(|name| (0..count).find(|id| name(*id) == text)) {
        return Ok(id as u32);
    }
    match (text.parse::<u32>(), name) {
        (Ok(id), _) if (id as usize) < count => Ok(id),
        (_, None) => {
            let reason = match count.checked_sub(1) {
                Some(last) => format!("the file has no names, give an id from 0 to {last}"),
                None => "the file has no labels at all".to_owned(),
            };
            Err(Error::parameter("label", format!("{text:?} is not a label: {reason}")))
        }
        (_, Some(name)) => {
            let reason = match suggestions(text, count, name)[..] {
                [] => format!("{text:?} is neither the name nor the id of a label"),
                ref near => format!("{text:?} is not a label: did you mean {}?", near.join(", ")),
            };
            Err(Error::parameter("label", reason))
        }
    }
}

/// The names closest to `text`, quoted: equal but for case, then containing it, then a few letters away.
fn suggestions<'n>(text: &str, count: usize, name: impl Fn(usize) -> &'n str + Sync) -> Vec<String> {
    let wanted = text.to_lowercase();
    let letters: Vec<char> = wanted.chars().collect();
    // Any two short words are a letter or two apart.
    let allowed = if letters.len() < 3 { 0 } else { (letters.len() / 4).max(1) };
    let mut near: Vec<(usize, usize)> = (0..count)
        .into_par_iter()
        .filter_map(|id| {
            let name = name(id).to_lowercase();
            if name.is_empty() || wanted.is_empty() {
                return None;
            }
            if name == wanted {
                return Some((0, id));
            }
            if name.contains(&wanted) {
                // The shorter the name, the more of it was typed.
                return Some((1 + name.len() - wanted.len(), id));
            }
            let distance = edit_distance(&letters, &name.chars().collect::<Vec<_>>(), allowed)?;
            Some((distance, id))
        })
        .collect();
    near.sort_unstable();
    near.iter().take(SUGGESTIONS).map(|(_, id)| format!("{:?}", name(*id))).collect()
}

/// Letters to insert, delete or replace to get from one word to the other, if not more than `allowed`.
fn edit_distance(a: &[char], b: &[char], allowed: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > allowed {
        return None;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    Some(row[b.len()]).filter(|distance| *distance <= allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lines() {
        for list in [vec![], vec![""], vec!["a", "", "ü b"]] {
            let names = ModelNames::from_iter(list.iter());
            assert_eq!(ModelNames::new(names.text.clone()), names);
            assert_eq!(names.iter().collect::<Vec<_>>(), list);
            assert_eq!((names.len(), names.is_empty()), (list.len(), list.is_empty()));
        }
    }

    #[test]
    fn edit_distances() {
        let distance = |a: &str, b: &str| {
            edit_distance(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>(), 9).unwrap()
        };
        assert_eq!((distance("kitten", "sitting"), distance("", "ab"), distance("ü", "ü")), (3, 2, 0));
    }
}
