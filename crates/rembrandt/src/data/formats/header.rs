//! The first line of a file in the format of the extreme-classification repository: `n d c`.

use crate::data::token::show;

/// The first line of an XMC file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) n: u64,
    pub(super) d: u32,
    pub(super) c: u32,
}

/// Three integers and nothing else make a header.
pub(super) fn parse_header(line: &str) -> Result<Option<Header>, String> {
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
