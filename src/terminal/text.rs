//! Text for a terminal: harmless, and in columns.

use std::borrow::Cow;

use rookery_domain::text::turns_direction;

/// Characters of a cell that are shown at most.
const CELL_CHARS_MAX: usize = 120;

/// `text` with a space in the place of every character that a terminal would act on: what a crash
/// or a message says may quote anybody.
#[must_use]
pub fn clean(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() || turns_direction(c);
    if text.contains(acts) { text.replace(acts, " ").into() } else { text.into() }
}

/// A table: names above, columns as wide as they need to be, the last one as it is.
#[must_use]
pub fn table(columns: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|text| cell(text)).collect()).collect();
    let mut widths: Vec<usize> = columns.iter().map(|name| name.chars().count()).collect();
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut out = String::new();
    let names: Vec<String> = columns.iter().map(|name| name.to_uppercase()).collect();
    for row in std::iter::once(&names).chain(&rows) {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', width - cell.chars().count()));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn cell(text: &str) -> String {
    let text = clean(text);
    if text.chars().count() <= CELL_CHARS_MAX {
        return text.into_owned();
    }
    text.chars().take(CELL_CHARS_MAX - 1).chain(['…']).collect()
}
