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
    pub(crate) const fn is_row_scoped(&self) -> bool {
        matches!(
            self,
            Self::Creator | Self::Editor { .. } | Self::RoleCreator(_) | Self::RoleOwn(_)
        )
    }

    /// The custom role that it is about.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        match self {
            Self::Role(role) | Self::RoleCreator(role) | Self::RoleOwn(role) => Some(role),
            Self::Owner | Self::Member | Self::Anyone | Self::Creator | Self::Editor { .. } => None,
        }
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
