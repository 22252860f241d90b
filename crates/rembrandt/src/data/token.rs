//! Tokens of a file as messages show them.

/// A token in quotes, cut and escaped: it may hold anything.
pub(super) fn show(token: &str) -> String {
    format!("`{}`", cut(token))
}

/// The same without quotes.
pub(super) fn cut(token: &str) -> String {
    const LONGEST: usize = 40;
    let mut shown: String = token.chars().take(LONGEST).flat_map(char::escape_debug).collect();
    if token.chars().nth(LONGEST).is_some() {
        shown.push('…');
    }
    shown
}
