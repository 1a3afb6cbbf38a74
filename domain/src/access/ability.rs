//! What a visitor may do in a collection, told beforehand, so that a page shows only what will
//! work. What is not here: the decision itself (`decide`), which is made anew on every request.

use super::{RowScope, Standing};
use crate::{access::SubjectList, manifest::Collection};

/// On which rows an operation is open to a visitor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// On all of them.
    All,
    /// On those that it created.
    Creator,
    /// On those that it wrote last.
    Editor,
    /// On those that it created or wrote last.
    CreatorOrEditor,
    /// On none.
    None,
}

crate::all::all_of!(Ability: All Creator Editor CreatorOrEditor None);

impl Ability {
    /// The word for it in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Creator => "creator",
            Self::Editor => "editor",
            Self::CreatorOrEditor => "creator_or_editor",
            Self::None => "none",
        }
    }

    fn of_list(standing: &Standing, list: &SubjectList) -> Self {
        match RowScope::of_list(standing, list) {
            RowScope::All => Self::All,
            RowScope::None => Self::None,
            RowScope::Scoped(own) => match (own.created(), own.edited()) {
                (true, true) => Self::CreatorOrEditor,
                (true, false) => Self::Creator,
                (false, _) => Self::Editor,
            },
        }
    }

    /// Cut down to rows that are read. Where one goes by who created a row and the other by who wrote it last,
    /// the change's own word stays: a page holds no rows but those that its visitor reads.
    const fn of_read(self, read: Self) -> Self {
        match (self, read) {
            (_, Self::None)
            | (Self::All, _)
            | (Self::CreatorOrEditor, Self::Creator | Self::Editor) => read,
            _ => self,
        }
    }
}

/// What a visitor may do in one collection, by the names of the manifest's lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Get, list, follow.
    pub read: Ability,
    /// Create: on all rows or on none.
    pub write: Ability,
    /// Update, as far as it also reads the row.
    pub update: Ability,
    /// Delete, as far as it also reads the row.
    pub delete: Ability,
    /// Count.
    pub count: Ability,
}

impl Abilities {
    /// What `standing` may do in `collection`. Not for a service credential, whose own bounds are
    /// no part of it: none visits an app's page.
    #[must_use]
    pub fn of(standing: &Standing, collection: &Collection) -> Self {
        let lists = &collection.permissions;
        let of = |list| Ability::of_list(standing, list);
        let unless = |refused: bool, list| if refused { Ability::None } else { of(list) };
        // Whoever was given a look only, and a collection that only grows.
        let fixed = standing.read_only || collection.append_only;
        let read = of(&lists.read);
        Self {
            read,
            write: match unless(standing.read_only, &lists.write) {
                Ability::All => Ability::All,
                _ => Ability::None,
            },
            update: unless(fixed, &lists.update).of_read(read),
            delete: unless(fixed, &lists.delete).of_read(read),
            count: of(&lists.count_read),
        }
    }

    /// Whether it may do nothing at all there: what it does not read, it neither updates nor deletes.
    #[must_use]
    pub fn are_none(&self) -> bool {
        [self.read, self.write, self.count].iter().all(|ability| *ability == Ability::None)
    }
}
