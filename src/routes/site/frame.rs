//! What every page of a signed-in human has around its content: navigation, what the last action did,
//! and what its forms are sent with.

use rookery_domain::id::{HumanId, SessionId};

use super::{assets::Addresses, form_token::FormToken, marks::Marks, notice::Notice};

/// Parts of the site, for the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// The human's apps, the deleted ones too, and an app's own pages.
    Apps,
    /// The human's agents.
    Agents,
    /// What the account uses.
    Usage,
    /// The human's organizations.
    Orgs,
    /// The human itself.
    Account,
}

/// What every page shows around its content.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Where style and scripts are.
    pub files: &'static Addresses,
    /// Who is signed in.
    pub who: String,
    /// Its account; the script tells by it whose push subscription the browser has.
    pub account: HumanId,
    /// By which session; the script tells by it that somebody signed in anew.
    pub session: SessionId,
    /// Which part of the site this is.
    pub section: Section,
    /// What the last action did.
    pub notice: Option<Notice>,
    /// The page's own address, for its forms: without what the last action did, and without a
    /// fragment, which an answer would be shown at.
    pub here: String,
    /// The token of the page's forms that make something.
    pub form: FormToken,
}

impl Frame {
    /// Whether the navigation stands at the part of this name.
    #[must_use]
    pub fn is_at(&self, name: &str) -> bool {
        let here = match self.section {
            Section::Apps => "apps",
            Section::Agents => "agents",
            Section::Usage => "usage",
            Section::Orgs => "orgs",
            Section::Account => "account",
        };
        here == name
    }

    /// With a sentence about an action that was refused.
    #[must_use]
    pub fn with(mut self, notice: Option<Notice>) -> Self {
        self.notice = notice.or(self.notice);
        self
    }

    /// Whether the page says that something was done.
    #[must_use]
    pub fn says_done(&self) -> bool {
        self.notice.as_ref().is_some_and(|notice| !notice.refused)
    }

    /// Whether a part of the page, or with an empty name its top, says what the last action did.
    #[must_use]
    pub fn says_at(&self, place: &str) -> bool {
        self.notice.as_ref().map_or("", |notice| notice.place) == place
    }

    /// What marks a field of the form of `action`, where it was refused; `help` is what describes
    /// it in any case.
    #[must_use]
    pub fn marks<'a>(&'a self, action: &str, field: &str, help: &'a str) -> Marks<'a> {
        let none = Marks { why: None, help };
        self.notice.as_ref().map_or(none, |notice| notice.marks(action, field, help))
    }
}
