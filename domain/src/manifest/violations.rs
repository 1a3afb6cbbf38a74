//! Collecting the violations of one kind, and turning them into the answer.
//!
//! What is not here: any rule of the manifest.

use std::slice;

use serde_json::json;

pub(super) use crate::pointer::at;
pub(super) use crate::text::{quoted as quoted_text, quoted_value as quoted};
use crate::{Error, ErrorCode, Result};

/// Violations that one answer lists. Of a manifest with more it lists the first, and how many it
/// left out stands in `details.left_out`.
pub const VIOLATIONS_MAX: usize = 100;

/// Bytes of the violations that one answer lists; the first is there however long it is. A place may
/// be as long as the manifest.
const LISTED_BYTES_MAX: usize = 128 << 10;

/// The violations of one kind so far.
#[derive(Debug)]
pub(super) struct Violations {
    code: ErrorCode,
    list: Vec<(String, String)>,
    listed_bytes: usize,
    left_out: usize,
}

impl Violations {
    pub(super) const fn new(code: ErrorCode) -> Self {
        Self { code, list: Vec::new(), listed_bytes: 0, left_out: 0 }
    }

    pub(super) fn push(&mut self, path: impl Into<String>, message: impl Into<String>) {
        if self.list.len() >= VIOLATIONS_MAX {
            self.left_out += 1;
            return;
        }
        let (path, message) = (path.into(), message.into());
        let listed_bytes = self.listed_bytes + path.len() + message.len();
        if listed_bytes <= LISTED_BYTES_MAX || self.list.is_empty() {
            self.list.push((path, message));
            self.listed_bytes = listed_bytes;
        } else {
            self.left_out += 1;
        }
    }

    /// Counts violations that are known of and stand nowhere.
    pub(super) const fn leave_out(&mut self, count: usize) {
        self.left_out += count;
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// # Errors
    /// The kind's error, if there is any violation.
    pub(super) fn finish(self) -> Result<()> {
        let Some(first) = self.list.first() else { return Ok(()) };
        Err(told(self.code, first, &self.list, self.left_out))
    }
}

/// The error of a kind with a single violation.
pub(super) fn one(code: ErrorCode, path: &str, message: impl Into<String>) -> Error {
    let only = (path.to_owned(), message.into());
    told(code, &only, slice::from_ref(&only), 0)
}

/// The error that says the `first` of the `listed` violations, and lists them.
fn told(
    code: ErrorCode,
    (path, message): &(String, String),
    listed: &[(String, String)],
    left_out: usize,
) -> Error {
    let place = if path.is_empty() { "the manifest" } else { path };
    let violations: Vec<_> =
        listed.iter().map(|(path, message)| json!({"path": path, "message": message})).collect();
    let mut details = json!({"path": path, "violations": violations});
    if left_out > 0 {
        details["left_out"] = json!(left_out);
    }
    Error::new(code, format!("{place}: {message}")).with_details(details)
}
