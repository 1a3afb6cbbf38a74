//! Subjects: the entries of a permission list.

use std::{fmt, sync::Arc};

/// One entry of a permission list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// The owner human and each of its agents.
    Owner,
    /// Owner and members.
    Member,
    /// Every caller.
    Anyone,
    /// Holders of a custom role.
    Role(Arc<str>),
    /// Row-scoped: who created the row.
    Creator,
    /// Row-scoped: who wrote the row last. `author` is its legacy alias.
    Editor {
        /// Written as `author` in the manifest.
        legacy_author: bool,
    },
    /// Row-scoped `<role>:creator`: holds the role and created the row.
    RoleCreator(Arc<str>),
    /// Row-scoped `<role>:own`: holds the role and created the row or wrote it last.
    RoleOwn(Arc<str>),
}

impl Subject {
    /// Whether it holds for some rows and not for others.
    #[must_use]
    pub const fn is_row_scoped(&self) -> bool {
        matches!(
            self,
            Self::Creator | Self::Editor { .. } | Self::RoleCreator(_) | Self::RoleOwn(_)
        )
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Owner => f.write_str("owner"),
            Self::Member => f.write_str("member"),
            Self::Anyone => f.write_str("anyone"),
            Self::Role(role) => f.write_str(role),
            Self::Creator => f.write_str("creator"),
            Self::Editor { legacy_author: true } => f.write_str("author"),
            Self::Editor { legacy_author: false } => f.write_str("editor"),
            Self::RoleCreator(role) => write!(f, "{role}:creator"),
            Self::RoleOwn(role) => write!(f, "{role}:own"),
        }
    }
}

/// A permission list, in declared order without repetitions.
pub type SubjectList = Arc<[Subject]>;

/// Which permission list of a collection a subject stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ListKind {
    /// `read`
    Read,
    /// `write`
    Write,
    /// `update`
    Update,
    /// `delete`
    Delete,
    /// `countRead`
    CountRead,
}

impl ListKind {
    /// The member of `permissions` in a manifest.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::CountRead => "countRead",
        }
    }

    /// Whether subjects that depend on the row make sense in this list: when a row is created or
    /// rows are counted there is no row to depend on.
    #[must_use]
    pub const fn accepts_row_scoped(self) -> bool {
        !matches!(self, Self::Write | Self::CountRead)
    }
}

/// Names that no custom role can have, because a subject of that name means something else.
pub const RESERVED_ROLE_NAMES: [&str; 7] =
    ["owner", "member", "anyone", "creator", "editor", "author", "agent"];

impl Subject {
    /// Reads one entry of the list `list`. `is_role` tells the declared custom roles.
    ///
    /// # Errors
    /// The reason in words, for `permission_role_invalid`: retired, unknown, or row-scoped where
    /// no row is at hand.
    pub fn parse(
        text: &str,
        list: ListKind,
        is_role: impl Fn(&str) -> bool,
    ) -> Result<Self, String> {
        let subject = match text {
            "owner" => Self::Owner,
            "member" => Self::Member,
            "anyone" => Self::Anyone,
            "creator" => Self::Creator,
            "editor" => Self::Editor { legacy_author: false },
            "author" => Self::Editor { legacy_author: true },
            "agent" => return Err("the subject `agent` is retired; use `owner`".to_owned()),
            _ => Self::parse_role(text, is_role)?,
        };
        if subject.is_row_scoped() && !list.accepts_row_scoped() {
            return Err(format!(
                "`{subject}` depends on a row, so it cannot stand in `{}`",
                list.as_str()
            ));
        }
        Ok(subject)
    }

    fn parse_role(text: &str, is_role: impl Fn(&str) -> bool) -> Result<Self, String> {
        let (role, form) = text.split_once(':').map_or((text, None), |(r, f)| (r, Some(f)));
        let built_in = RESERVED_ROLE_NAMES.contains(&role);
        match form {
            Some("own" | "creator") if built_in => {
                Err(format!("`{text}`: only a custom role takes this form"))
            }
            _ if built_in || !is_role(role) => {
                Err(format!("`{text}` is no built-in subject and no role declared under `roles`"))
            }
            None => Ok(Self::Role(role.into())),
            Some("own") => Ok(Self::RoleOwn(role.into())),
            Some("creator") => Ok(Self::RoleCreator(role.into())),
            Some(form) => {
                Err(format!("`{text}`: unknown form `:{form}`; use `:own` or `:creator`"))
            }
        }
    }
}
