//! What an operator does to an app is written down with a reason.

use crate::error::{Error, Result};

/// Most characters of a reason.
pub const REASON_CHARS_MAX: usize = 500;

/// Reads a reason; white space around it does not count.
///
/// # Errors
/// `invalid_request` for none, or one that is too long.
pub fn reason(text: &str) -> Result<&str> {
    let reason = text.trim();
    if reason.is_empty() || reason.chars().count() > REASON_CHARS_MAX {
        let message = format!("the reason must have 1 to {REASON_CHARS_MAX} characters");
        return Err(Error::invalid(message));
    }
    Ok(reason)
}
