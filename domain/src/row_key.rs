//! Row keys (contract part 5): the address of a row in its collection.

use crate::{Error, Result, id::RowId};

/// Characters of a key.
pub const CHARS_MAX: usize = 128;
/// What [`check`] takes, as far as a regular expression says it.
pub const PATTERN: &str = r"^[^\u0000-\u001f\u007f-\u009f]+$";
/// Keys that a route or a URL parser would read as something else.
pub const RESERVED: [&str; 6] = ["batch", "count", "deleted", "retention", ".", ".."];

/// Checks a key that a caller chose.
///
/// # Errors
/// `invalid_request` with the rule it breaks.
pub fn check(key: &str) -> Result<()> {
    // A character has up to 4 bytes, so a long text is refused without counting.
    if key.is_empty() || key.len() > 4 * CHARS_MAX || key.chars().count() > CHARS_MAX {
        return Err(Error::invalid(format!("`key` must have 1 to {CHARS_MAX} characters")));
    }
    if key.chars().any(char::is_control) {
        return Err(Error::invalid("`key` must not hold control characters"));
    }
    if RESERVED.contains(&key) {
        return Err(Error::invalid(format!("`key` must not be `{key}`, which is reserved")));
    }
    Ok(())
}

/// A new key for a row whose caller chose none.
#[must_use]
pub fn generate() -> String {
    RowId::new().to_string()
}
