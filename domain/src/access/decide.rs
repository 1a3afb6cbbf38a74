//! Decisions: may this caller do this, and if not, which refusal (contract part 2, "Which
//! refusal"; part 7). An allowed path allocates nothing.
//!
//! The order inside one decision is the contract's: the credential's own bounds, then a row that
//! is absent or hidden, then the governing list. What comes after (challenge, append-only,
//! versions, schema, budgets) is not here.

use super::{Authorship, CollectionGrant, Operation, RowScope, Standing, Subject};
use crate::{Error, ErrorCode, Result, access::SubjectList, manifest::Collection};

/// What to do about what no allowlist can hold.
const OWNER_ONLY: &str = "No allowlist has this operation, so another credential does not help: only the owner may, with the key of one of the owner's agents or signed in.";

/// A caller in front of a collection.
#[derive(Debug, Clone, Copy)]
pub struct Access<'a> {
    standing: &'a Standing,
    collection: &'a Collection,
}

impl<'a> Access<'a> {
    /// What `standing` may do in `collection`.
    #[must_use]
    pub const fn new(standing: &'a Standing, collection: &'a Collection) -> Self {
        Self { standing, collection }
    }

    /// The rows that a list may show.
    ///
    /// # Errors
    /// `credential_scope_forbidden`, `collection_read_forbidden`.
    pub fn list(&self) -> Result<RowScope> {
        let grant = self.credential(Operation::Read)?;
        let list = &self.collection.permissions.read;
        match self.within(grant, RowScope::of_list(self.standing, list)) {
            RowScope::None => Err(self.refusal(ErrorCode::CollectionReadForbidden, "read", list)),
            scope => Ok(scope),
        }
    }

    /// The rows that a count may count: all, or a credential's own.
    ///
    /// # Errors
    /// `credential_scope_forbidden`, `collection_count_forbidden`.
    pub fn count(&self) -> Result<RowScope> {
        let grant = self.credential(Operation::Count)?;
        let list = &self.collection.permissions.count_read;
        match self.within(grant, RowScope::of_list(self.standing, list)) {
            RowScope::None => Err(self.refusal(ErrorCode::CollectionCountForbidden, "count", list)),
            scope => Ok(scope),
        }
    }

    /// The feed of this collection alone: open to every caller, who hears of what it may read, but a
    /// credential that may not read here would wait for nothing.
    ///
    /// # Errors
    /// `credential_scope_forbidden`.
    pub fn follow(&self) -> Result<()> {
        self.credential(Operation::Read).map(drop)
    }

    /// One row by key; `None` when there is no live one.
    ///
    /// # Errors
    /// `credential_scope_forbidden`; `row_not_found` for an absent and a hidden row alike.
    pub fn read(&self, row: Option<Authorship>) -> Result<()> {
        let grant = self.credential(Operation::Read)?;
        self.visible(grant, row).map(|_| ())
    }

    /// Create without a key.
    ///
    /// # Errors
    /// `credential_scope_forbidden`, `collection_write_forbidden`.
    pub fn create(&self) -> Result<()> {
        self.credential(Operation::Create)?;
        self.write()
    }

    /// Create at a key. `existing` is the live row at the key,
    /// which is then answered instead of a new one.
    ///
    /// # Errors
    /// `credential_scope_forbidden`; `row_not_found` when the existing row is hidden, and when
    /// there is none for whoever may neither write nor read every row: it does not learn which
    /// keys and values there are; `collection_write_forbidden`.
    pub fn create_at(&self, existing: Option<Authorship>) -> Result<()> {
        let grant = self.credential(Operation::Create)?;
        if existing.is_some() {
            self.visible(grant, existing)?;
        }
        match self.write() {
            Err(_) if existing.is_none() && self.sight(grant) != RowScope::All => {
                Err(Error::row_not_found())
            }
            answer => answer,
        }
    }

    /// Whether a row may be at a key without the knowledge of whoever creates one there.
    #[must_use]
    pub fn may_miss(&self) -> bool {
        let grant = self.credential(Operation::Create);
        grant.map_or(true, |grant| self.sight(grant) != RowScope::All)
    }

    /// Upsert on a unique field: `matched` is the row that holds the value. Whoever may neither change nor
    /// read that row is told what it would be told without it.
    ///
    /// # Errors
    /// Those of [`Self::create_at`] and [`Self::update`].
    pub fn upsert(&self, matched: Option<Authorship>) -> Result<()> {
        if matched.is_none() {
            return self.create_at(None);
        }
        match self.update(matched) {
            // Only who may make the row itself hears of this one: it could try the value out anyway.
            Err(error) if self.read(matched).is_err() => self.create_at(None).and(Err(error)),
            answer => answer,
        }
    }

    /// Whether the write list admits.
    fn write(&self) -> Result<()> {
        let list = &self.collection.permissions.write;
        let admitted =
            !self.standing.read_only && RowScope::of_list(self.standing, list) == RowScope::All;
        if admitted {
            return Ok(());
        }
        Err(self.refusal(ErrorCode::CollectionWriteForbidden, "create", list))
    }

    /// Update.
    ///
    /// # Errors
    /// `credential_scope_forbidden`, `row_not_found`, `author_not_allowed`,
    /// `collection_write_forbidden`.
    pub fn update(&self, row: Option<Authorship>) -> Result<()> {
        let list = &self.collection.permissions.update;
        self.change(Operation::Update, row, list, ErrorCode::CollectionWriteForbidden, "update")
    }

    /// Delete.
    ///
    /// # Errors
    /// `credential_scope_forbidden`, `row_not_found`, `author_not_allowed`,
    /// `collection_delete_forbidden`.
    pub fn delete(&self, row: Option<Authorship>) -> Result<()> {
        let list = &self.collection.permissions.delete;
        self.change(Operation::Delete, row, list, ErrorCode::CollectionDeleteForbidden, "delete")
    }

    /// The trash and restore, which are the owner's and depend on no list.
    ///
    /// # Errors
    /// `forbidden`; `credential_scope_forbidden` for a service credential.
    pub fn trash(&self) -> Result<()> {
        self.owner_only(ErrorCode::Forbidden, "only the owner restores rows and sees deleted ones")
    }

    /// Purge, which bypasses append-only and the delete list. `row` is the live row at the key.
    ///
    /// # Errors
    /// `credential_scope_forbidden` for a service credential; `row_not_found` when the row is
    /// hidden from the caller or there is none, which look the same; `purge_forbidden`.
    pub fn purge(&self, row: Option<Authorship>) -> Result<()> {
        let refused = self.owner_only(ErrorCode::PurgeForbidden, "only the owner purges rows");
        if refused.is_err() && self.standing.allowlist.is_none() {
            self.visible(None, row)?;
        }
        refused
    }

    fn owner_only(&self, code: ErrorCode, message: &str) -> Result<()> {
        if self.standing.is_owner() {
            return Ok(());
        }
        if self.standing.allowlist.is_some() {
            let name = &self.collection.name;
            let message = format!("no service credential reaches that in `{name}`");
            let refused = Error::new(ErrorCode::CredentialScopeForbidden, message);
            return Err(refused.with_hint(OWNER_ONLY));
        }
        Err(Error::new(code, message))
    }

    fn change(
        &self,
        operation: Operation,
        row: Option<Authorship>,
        list: &SubjectList,
        code: ErrorCode,
        verb: &str,
    ) -> Result<()> {
        let grant = self.credential(operation)?;
        let row = self.visible(grant, row)?;
        if !self.standing.read_only && RowScope::of_list(self.standing, list).admits(row) {
            return Ok(());
        }
        let authors_only = !list.is_empty()
            && list.iter().all(|subject| matches!(subject, Subject::Editor { .. }));
        let code = if authors_only { ErrorCode::AuthorNotAllowed } else { code };
        Err(self.refusal(code, verb, list))
    }

    /// The bounds of a service credential; `None` for any other caller.
    fn credential(&self, operation: Operation) -> Result<Option<CollectionGrant>> {
        let Some(allowlist) = &self.standing.allowlist else { return Ok(None) };
        match allowlist.grant(&self.collection.name) {
            Some(grant) if grant.allows(operation) => Ok(Some(grant)),
            _ => Err(self.out_of_scope(operation)),
        }
    }

    const fn within(&self, grant: Option<CollectionGrant>, scope: RowScope) -> RowScope {
        match grant {
            Some(grant) => scope.bounded(grant, self.standing),
            None => scope,
        }
    }

    /// The row, if there is one and the caller's read list shows it. A credential of scope `own`
    /// does not see what it did not create; for one that may update but not read, the owner's read
    /// list says which rows there are, and what they hold is not shown.
    fn visible(
        &self,
        grant: Option<CollectionGrant>,
        row: Option<Authorship>,
    ) -> Result<Authorship> {
        let row = row.ok_or_else(Error::row_not_found)?;
        if self.sight(grant).admits(row) { Ok(row) } else { Err(Error::row_not_found()) }
    }

    fn sight(&self, grant: Option<CollectionGrant>) -> RowScope {
        let scope = RowScope::of_list(self.standing, &self.collection.permissions.read);
        self.within(grant, scope)
    }

    #[cold]
    fn out_of_scope(&self, operation: Operation) -> Error {
        let (name, operation) = (&self.collection.name, operation.as_str());
        Error::new(
            ErrorCode::CredentialScopeForbidden,
            format!("this credential does not reach `{operation}` in `{name}`"),
        )
    }

    #[cold]
    fn refusal(&self, code: ErrorCode, verb: &str, list: &SubjectList) -> Error {
        let name = &self.collection.name;
        if list.is_empty() {
            let message = format!(
                "nobody may {verb} rows of `{name}`: the list that governs it is empty or left out, so \
                 it admits not even the owner"
            );
            return Error::new(code, message).with_required(Vec::new());
        }
        let reads = matches!(
            code,
            ErrorCode::CollectionReadForbidden | ErrorCode::CollectionCountForbidden
        );
        let message = match code {
            _ if self.standing.read_only && !reads => {
                format!("a preview is for reading only, and may not {verb} rows of `{name}`")
            }
            ErrorCode::AuthorNotAllowed => {
                format!("only its author may {verb} this row of `{name}`")
            }
            _ if !self.standing.read_only
                && matches!(RowScope::of_list(self.standing, list), RowScope::Scoped(_)) =>
            {
                format!("you may {verb} only rows of `{name}` that are your own")
            }
            _ => format!("you may not {verb} rows of `{name}`"),
        };
        Error::new(code, message).with_required(list.iter().map(ToString::to_string).collect())
    }
}
