//! The part of an address by which a page in the sandbox of path mode gets the files of its app,
//! where they are not everybody's: a browser sends no cookie with what such a page loads, so the
//! page's `<base>` is `/a/<slug>/s/as/<pass>/`, and everything below it is what it is below
//! `/a/<slug>/`.
//!
//! What is not here: what a pass is made of, and whom it names (`rookery_actors::directory`).

use std::fmt;

use super::origin::APPS_PATH;

/// Where on an app's origin such addresses begin. It belongs to the service, so no asset lies there.
const PREFIX: &str = "/s/as/";

/// A pass as it stands in an address.
#[derive(Clone, PartialEq, Eq)]
pub struct FilesPass(Box<str>);

impl FilesPass {
    /// The pass in a path of an app's origin, and the path below it; `None` where there is none.
    #[must_use]
    pub fn split(path: &str) -> Option<(Self, &str)> {
        let rest = path.strip_prefix(PREFIX)?;
        let (pass, below) = rest.split_at(rest.find('/')?);
        Some((Self(pass.into()), below))
    }

    /// The address below which the files are; `app` is the path of the app, with its last slash.
    #[must_use]
    pub fn base(app: &str, pass: &str) -> String {
        format!("{}{PREFIX}{pass}/", app.trim_end_matches('/'))
    }

    /// Whether an address in an app's document is such a base: it names a visitor, whichever app it
    /// was for.
    #[must_use]
    pub fn is_base(address: &str) -> bool {
        let Some((app, pass)) = address.trim_ascii().split_once(PREFIX) else { return false };
        let below = app.rfind('/').map_or("", |slash| &app[..=slash]);
        below.ends_with(APPS_PATH) && pass.find('/').is_some_and(|end| end + 1 == pass.len())
    }

    /// Its text.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Whoever has it can read the app's files.
impl fmt::Debug for FilesPass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FilesPass(..)")
    }
}
