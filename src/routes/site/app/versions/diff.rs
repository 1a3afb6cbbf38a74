//! What changed between two versions, line by line. How much is shown, and how long is looked, is
//! bounded: documents may be large, and one line of a packed script may be all of it.

use std::time::Duration;

use rookery_storage::versions::AssetInfo;
use serde_json::Value;
use similar::{ChangeTag, TextDiff};

use crate::{
    pages::visible::{cut_to_difference, escaped},
    routes::site::words::Bytes,
};

/// Lines around a change.
const CONTEXT_LINES: usize = 3;
/// Lines that a page shows.
const LINES_MAX: usize = 1_500;
/// Characters of a line that it shows.
const LINE_CHARS_MAX: usize = 400;
/// How long the smallest difference is looked for before a larger one does.
const TIME_MAX: Duration = Duration::from_millis(200);

/// A line of a difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// `add`, `remove`, `same`, or `gap` where lines are left out.
    pub kind: &'static str,
    /// `+`, `-` or a space.
    pub sign: &'static str,
    /// The line.
    pub text: String,
}

/// What changed in a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Difference {
    /// The changed lines and those around them.
    pub lines: Vec<Line>,
    /// Lines added.
    pub added: usize,
    /// Lines removed.
    pub removed: usize,
    /// Whether there is more than is shown.
    pub cut: bool,
}

impl Difference {
    /// From one text to another.
    #[must_use]
    pub fn of(before: &str, after: &str) -> Self {
        let diff = TextDiff::configure().timeout(TIME_MAX).diff_lines(before, after);
        let mut found = Self::default();
        for (index, group) in diff.grouped_ops(CONTEXT_LINES).iter().enumerate() {
            if index > 0 {
                found.push_shown("gap", " ", || "…".to_owned());
            }
            for (op, change) in
                group.iter().flat_map(|op| diff.iter_changes(op).map(move |it| (op, it)))
            {
                // What stands in its place, where a line was replaced.
                let other = match change.tag() {
                    ChangeTag::Insert => {
                        found.added += 1;
                        let nth = change.new_index().map(|index| index - op.new_range().start);
                        nth.and_then(|nth| diff.old_slices()[op.old_range()].get(nth))
                    }
                    ChangeTag::Delete => {
                        found.removed += 1;
                        let nth = change.old_index().map(|index| index - op.old_range().start);
                        nth.and_then(|nth| diff.new_slices()[op.new_range()].get(nth))
                    }
                    ChangeTag::Equal => None,
                };
                found.push(change.tag(), change.value(), other.copied());
            }
        }
        found
    }

    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added == 0 && self.removed == 0
    }

    fn push(&mut self, tag: ChangeTag, line: &str, other: Option<&str>) {
        let (kind, sign) = match tag {
            ChangeTag::Insert => ("add", "+"),
            ChangeTag::Delete => ("remove", "-"),
            ChangeTag::Equal => ("same", " "),
        };
        self.cut |= tag != ChangeTag::Equal && line.chars().nth(LINE_CHARS_MAX).is_some();
        self.push_shown(kind, sign, || shown(line, other));
    }

    /// Adds a line, whose text is made only where it is shown.
    fn push_shown(
        &mut self,
        kind: &'static str,
        sign: &'static str,
        text: impl FnOnce() -> String,
    ) {
        if self.lines.len() < LINES_MAX {
            self.lines.push(Line { kind, sign, text: text() });
        } else {
            self.cut = true;
        }
    }
}

/// A line as a page shows it, from shortly before the first character in which it differs from the `other`
/// one; and how it ends, where that is all that differs.
fn shown(line: &str, other: Option<&str>) -> String {
    let without_end = |line: &'_ str| line.trim_end_matches(['\n', '\r']).len();
    let (text, end) = line.split_at(without_end(line));
    let other = other.map(|other| &other[..without_end(other)]);
    let shown = escaped(&cut_to_difference(text, other, LINE_CHARS_MAX));
    if other == Some(text) { shown + &end.escape_default().to_string() } else { shown }
}

/// A manifest in one way of writing, so that only what it says is compared.
#[must_use]
pub fn canonical(manifest: &str) -> String {
    let value = serde_json::from_str::<Value>(manifest);
    let text = value.and_then(|value| serde_json::to_string_pretty(&value));
    text.map_or_else(|_| manifest.to_owned(), |text| text + "\n")
}

/// A file that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path.
    pub path: String,
    /// What became of it.
    pub what: &'static str,
    /// How large it is, or was.
    pub size: Bytes,
}

/// What changed among the files, by path.
#[must_use]
pub fn files(before: &[AssetInfo], after: &[AssetInfo]) -> Vec<FileChange> {
    let change = |what, file: &AssetInfo| FileChange {
        path: file.path.clone(),
        what,
        size: Bytes(file.size),
    };
    let find = |list: &'_ [AssetInfo], path: &str| list.iter().position(|file| file.path == path);
    let mut changes: Vec<FileChange> = after
        .iter()
        .filter_map(|file| match find(before, &file.path) {
            None => Some(change("added", file)),
            Some(old) if before[old].sha256 != file.sha256 => Some(change("changed", file)),
            Some(old) if before[old].content_type != file.content_type => {
                Some(change("of another type", file))
            }
            Some(_) => None,
        })
        .collect();
    let gone = before.iter().filter(|file| find(after, &file.path).is_none());
    changes.extend(gone.map(|file| change("removed", file)));
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    changes
}
