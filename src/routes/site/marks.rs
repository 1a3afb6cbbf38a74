//! How a page shows which field of a form was refused: the reason stands at the field and is tied to
//! it for who hears the page, and the field has the focus.

use std::fmt;

/// The element that says why a field was refused; a page has one at most.
const WHY: &str = "why";

/// What a field that was refused is marked with.
pub const INVALID: &str = " aria-invalid=\"true\"";

/// A field that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// What its form does.
    pub form: String,
    /// The field's name.
    pub field: &'static str,
}

/// What marks a field: as text, the attributes of the input. It holds nothing that anybody typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Marks<'a> {
    /// Why it was refused, if it was.
    pub why: Option<&'a str>,
    /// The id of what describes it in any case; a page's own word. Empty for nothing.
    pub help: &'a str,
}

impl fmt::Display for Marks<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.why, self.help) {
            (None, "") => Ok(()),
            (None, help) => write!(f, " aria-describedby=\"{help}\""),
            (Some(_), help) => {
                let gap = if help.is_empty() { "" } else { " " };
                write!(f, "{INVALID} aria-describedby=\"{WHY}{gap}{help}\" autofocus")
            }
        }
    }
}
