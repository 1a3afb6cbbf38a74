//! JSON pointers (RFC 6901): how names become one, and what a name in one stands for. What is looked up
//! by them is elsewhere.

use std::{borrow::Cow, fmt::Display};

/// The pointer to a member or item of what `base` points to.
#[must_use]
pub fn at(base: &str, token: impl Display) -> String {
    let token = token.to_string();
    if token.contains(['~', '/']) {
        format!("{base}/{}", token.replace('~', "~0").replace('/', "~1"))
    } else {
        format!("{base}/{token}")
    }
}

/// The name that a reference token stands for (section 4).
#[must_use]
pub fn name(token: &str) -> Cow<'_, str> {
    if token.contains('~') {
        Cow::Owned(token.replace("~1", "/").replace("~0", "~"))
    } else {
        Cow::Borrowed(token)
    }
}
