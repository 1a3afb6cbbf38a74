//! The little of Markdown that descriptions use: paragraphs, and code in backquotes. A code that is
//! an error's leads to the error reference.

use askama::Template;
use rookery_domain::ErrorCode;

/// A description, ready for a page.
#[derive(Template)]
#[template(path = "reference/prose.html")]
pub(super) struct Prose {
    paragraphs: Vec<Vec<Piece>>,
}

struct Piece {
    text: String,
    is_code: bool,
    is_error: bool,
}

impl Prose {
    pub(super) fn of(text: &str) -> Self {
        let paragraphs = text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty());
        Self { paragraphs: paragraphs.map(pieces).collect() }
    }
}

/// Every second piece stands in backquotes.
fn pieces(paragraph: &str) -> Vec<Piece> {
    let split = paragraph.split('`').enumerate().filter(|(_, text)| !text.is_empty());
    let piece = |(index, text): (usize, &str)| {
        let is_code = index % 2 == 1;
        let is_error = is_code && ErrorCode::ALL.iter().any(|code| code.as_str() == text);
        Piece { text: text.to_owned(), is_code, is_error }
    };
    split.map(piece).collect()
}
