//! What pages read of the API's records: the members that they show, and no more. What is not here:
//! records that one page alone reads; they stand beside it.

use rookery_actors::{control::ShownStatus, directory::KeyState};
use rookery_domain::{
    id::{AgentId, AppId, OrgId},
    manifest::Visibility,
};
use serde::Deserialize;

use super::words::{At, Bytes, Count, percent};
use crate::routes::self_apps::record::OwnRole;

/// A page of a list.
#[derive(Debug, Deserialize)]
pub struct List<T> {
    /// The items.
    pub items: Vec<T>,
    /// Leads to the next page.
    pub next_cursor: Option<String>,
}

/// An app.
#[derive(Debug, Clone, Deserialize)]
pub struct App {
    /// Its id.
    pub id: AppId,
    /// Its name in addresses.
    pub slug: String,
    /// Where its page is.
    pub url: String,
    /// The link that lets visitors in.
    pub share_url: Option<String>,
    /// What it does.
    pub status: ShownStatus,
    /// The current version.
    pub version: u32,
    /// Who reaches its page.
    pub visibility: Visibility,
    /// IANA name.
    pub timezone: String,
    /// Whether its page may talk to anything.
    pub unrestricted: bool,
    /// Silent writes.
    pub migration_mode: Migration,
    /// Whose it is.
    pub owner: Owner,
    /// The organization whose admins act as its owner.
    pub org_id: Option<OrgId>,
    /// The name of its own that serves it.
    pub domain: Option<String>,
    /// Its collections.
    pub collections: Vec<Collection>,
    /// What counts towards its quotas; a member is not told.
    pub usage: Option<Held>,
    /// When it was made.
    pub created_at: At,
    /// When it was changed last.
    pub updated_at: At,
    /// When it went to the trash.
    pub deleted_at: Option<At>,
    /// When it is destroyed.
    pub purge_at: Option<At>,
    /// What the human is to it, in the human's own lists.
    #[serde(default)]
    pub role: Option<OwnRole>,
    /// Whether the human marked it, in the human's own lists.
    #[serde(default)]
    pub favorite: bool,
    /// When the human opened it last, in the list of those.
    #[serde(default)]
    pub last_viewed_at: Option<At>,
}

impl App {
    /// Whether the human owns it, or acts as its owner.
    #[must_use]
    pub fn is_own(&self) -> bool {
        match self.role {
            None | Some(OwnRole::Owner | OwnRole::Admin) => true,
            Some(OwnRole::Member) => false,
        }
    }

    /// Whether it is somebody else's, in the human's own lists.
    #[must_use]
    pub fn is_of_others(&self) -> bool {
        match self.role {
            Some(OwnRole::Admin | OwnRole::Member) => true,
            None | Some(OwnRole::Owner) => false,
        }
    }

    /// From when on it may be destroyed with its data, being closed for good: its owner's account was.
    #[must_use]
    pub fn ends_at(&self) -> Option<&At> {
        self.purge_at.as_ref().filter(|_| self.status == ShownStatus::Closed)
    }

    /// Whether anybody is shown the app itself: it is neither in the trash nor taken down.
    #[must_use]
    pub fn opens(&self) -> bool {
        match self.status {
            ShownStatus::Live | ShownStatus::Dormant => true,
            ShownStatus::Deleted | ShownStatus::Closed => false,
        }
    }

    /// What it does, in a word.
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self.status {
            ShownStatus::Live => "Awake",
            ShownStatus::Dormant => "Asleep",
            ShownStatus::Deleted => "In the trash",
            ShownStatus::Closed => "Taken down",
        }
    }

    /// Whether only its owner and those whom it invited reach it.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.visibility == Visibility::Private
    }

    /// Who reaches it, in words.
    #[must_use]
    pub const fn audience(&self) -> &'static str {
        audience(self.visibility)
    }
}

/// A visibility in a few words.
#[must_use]
pub const fn audience(visibility: Visibility) -> &'static str {
    match visibility {
        Visibility::Private => "Private",
        Visibility::Link => "With the link",
        Visibility::Public => "Public",
    }
}

/// The account that an app belongs to.
#[derive(Debug, Clone, Deserialize)]
pub struct Owner {
    /// Its name.
    pub name: Option<String>,
    /// Its address where it is proven, in the human's own lists.
    #[serde(default)]
    pub email: Option<String>,
}

/// A collection in numbers.
#[derive(Debug, Clone, Deserialize)]
pub struct Collection {
    /// Its name.
    pub name: String,
    /// Live rows, as far as the human may count them.
    pub row_count: Option<Count>,
    /// Rows in the trash, as its owner is told.
    pub deleted_count: Option<Count>,
    /// Rows that are kept and not served, as its owner is told.
    pub detached: Option<Count>,
    /// Whether it only holds such rows, for the current version does not declare it. No member of
    /// the API's record.
    #[serde(skip)]
    pub undeclared: bool,
}

impl Collection {
    /// Rows that are kept and not served, where there are some that the human may know of.
    #[must_use]
    pub fn set_aside(&self) -> Option<Count> {
        self.detached.filter(|rows| rows.0 > 0)
    }

    /// Rows in the trash, where there are some that the human may know of.
    #[must_use]
    pub fn in_trash(&self) -> Option<Count> {
        self.deleted_count.filter(|rows| rows.0 > 0)
    }
}

/// What an app holds.
#[derive(Debug, Clone, Deserialize)]
pub struct Held {
    /// Rows.
    pub rows: Count,
    /// Rows that it may hold.
    pub rows_limit: Count,
    /// Bytes.
    pub storage_bytes: Bytes,
    /// Bytes that it may hold.
    pub storage_bytes_limit: Bytes,
}

impl Held {
    /// Rows, in hundredths of what it may hold.
    #[must_use]
    pub fn rows_percent(&self) -> u64 {
        percent(self.rows.0, self.rows_limit.0)
    }

    /// The same of bytes.
    #[must_use]
    pub fn bytes_percent(&self) -> u64 {
        percent(self.storage_bytes.0, self.storage_bytes_limit.0)
    }
}

/// Silent writes.
#[derive(Debug, Clone, Deserialize)]
pub struct Migration {
    /// Whether it is on.
    pub on: bool,
    /// Until when.
    pub until: Option<At>,
}

/// An agent of the human.
#[derive(Debug, Clone, Deserialize)]
pub struct Agent {
    /// Its id.
    pub id: AgentId,
    /// Its name.
    pub name: String,
    /// What its keys can do.
    pub state: KeyState,
    /// When it registered.
    pub created_at: At,
    /// When it was claimed.
    pub claimed_at: Option<At>,
    /// Its keys.
    pub keys: Vec<Key>,
}

impl Agent {
    /// What its keys can do, in a word.
    #[must_use]
    pub const fn says(&self) -> &'static str {
        match self.state {
            KeyState::Active => "Active",
            KeyState::Paused => "Paused",
            KeyState::Revoked => "Revoked",
        }
    }

    /// What its human may do to it besides: the action, and what its button says.
    #[must_use]
    pub const fn step(&self) -> Option<(&'static str, &'static str)> {
        match self.state {
            KeyState::Active => Some(("pause", "Pause")),
            KeyState::Paused => Some(("resume", "Resume")),
            KeyState::Revoked => None,
        }
    }

    /// When any of its keys was used last.
    #[must_use]
    pub fn last_used_at(&self) -> Option<&At> {
        self.keys.iter().filter_map(|key| key.last_used_at.as_ref()).max()
    }
}

/// A key without its secret.
#[derive(Debug, Clone, Deserialize)]
pub struct Key {
    /// The beginning of its secret.
    pub prefix: String,
    /// What it can do.
    pub state: KeyState,
    /// When it was used last.
    pub last_used_at: Option<At>,
}
