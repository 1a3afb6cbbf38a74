//! Percent-encoding in settings, read to the letter: what only looks like it is refused, where a page's
//! address would have it stand for itself.

use percent_encoding::percent_decode_str;

/// The bytes of `text`; `None` where a `%` is not followed by two hexadecimal digits.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let is_escape = |rest: &str| {
        rest.as_bytes().get(..2).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    let mut escapes = text.split('%').skip(1);
    escapes.all(is_escape).then(|| percent_decode_str(text).collect())
}
