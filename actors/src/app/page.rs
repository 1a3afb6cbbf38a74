//! The text of a page of rows, made piece by piece as its reader takes it.
//!
//! A page may hold megabytes and its reader may be slow, or may not read at all: what was not sent
//! yet waits as references to rows, which all readers share. Not in here: which rows are on a page
//! ([`super::read`], [`super::trash`]).

use std::vec;

use rookery_domain::row::write_json_string;

use super::read::SeenRow;

/// A piece of an answer that has grown to so many bytes is handed on. Most pages are one piece.
pub const PIECE_BYTES: usize = 64 << 10;
/// What a row takes beside its data: a guess, so that a piece seldom grows while it is written.
const ROW_OVERHEAD_BYTES: usize = 300;
/// What a page takes beside its rows: the same.
const PAGE_OVERHEAD_BYTES: usize = 256;

/// `{"items": [...], "next_cursor": ...}` in pieces, with `"feed_cursor"` where the page has one.
#[derive(Debug)]
pub struct PageText {
    rows: vec::IntoIter<SeenRow>,
    is_begun: bool,
    /// What follows the rows; none once it has been handed on.
    end: Option<String>,
}

impl PageText {
    pub(super) fn new(rows: Vec<SeenRow>, next: Option<&str>, feed: Option<&str>) -> Self {
        let mut end = String::with_capacity(PAGE_OVERHEAD_BYTES);
        end.push_str("],\"next_cursor\":");
        match next {
            Some(next) => write_json_string(next, &mut end),
            None => end.push_str("null"),
        }
        if let Some(feed) = feed {
            end.push_str(",\"feed_cursor\":");
            write_json_string(feed, &mut end);
        }
        end.push('}');
        Self { rows: rows.into_iter(), is_begun: false, end: Some(end) }
    }

    /// Whether the last piece has been taken.
    #[must_use]
    pub const fn is_done(&self) -> bool {
        self.end.is_none()
    }

    /// About the most bytes that the next piece will have.
    fn room(&self) -> usize {
        let mut bytes = PAGE_OVERHEAD_BYTES;
        for seen in self.rows.as_slice() {
            bytes += seen.row.data().len() + ROW_OVERHEAD_BYTES;
            if bytes > PIECE_BYTES {
                break;
            }
        }
        bytes
    }
}

impl Iterator for PageText {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if self.is_done() {
            return None;
        }
        let mut piece = String::with_capacity(self.room());
        let mut named = None;
        for seen in self.rows.by_ref() {
            piece.push_str(if self.is_begun { "," } else { "{\"items\":[" });
            self.is_begun = true;
            seen.row.write_json_after(&mut named, seen.deleted_at, &mut piece);
            if piece.len() >= PIECE_BYTES {
                return Some(piece);
            }
        }
        if !self.is_begun {
            piece.push_str("{\"items\":[");
        }
        piece.push_str(&self.end.take()?);
        Some(piece)
    }
}
