//! Text that is safe where it stands in TypeScript: names and literals in quotes, and comments that
//! end where they should.

use std::fmt::Write as _;

/// Characters of a comment that are kept.
const COMMENT_CHARS_MAX: usize = 400;

/// `text` as a string literal. What a human reads stays readable, in any script; everything that could
/// end the literal or the line is escaped.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() || is_line_end(c) => {
                // Writing to a String cannot fail. All of these lie in the first plane.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `text` inside `/** */` on one line; empty for nothing worth saying.
pub(super) fn comment(text: &str) -> String {
    let plain = |c: char| if c.is_control() || is_line_end(c) { ' ' } else { c };
    let line: String = text.chars().take(COMMENT_CHARS_MAX).map(plain).collect();
    let line = line.trim();
    if line.is_empty() {
        return String::new();
    }
    // Between the two characters nothing may be left that closes the comment.
    format!("/** {} */", line.replace("*/", "* /"))
}

/// The line ends of ECMAScript that are no control characters.
const fn is_line_end(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
}
