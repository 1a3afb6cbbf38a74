//! The trash of a collection: its list, bringing a row back, and destroying one. All are the owner's.
//!
//! The contents of deleted rows are in storage only, so a restore reads them first and hands them
//! to the actor, which takes them if the row has not changed meanwhile.

use rookery_domain::{
    Error, Result,
    access::Access,
    principal::Caller,
    query::{ListCursor, PageLimit},
    row_key,
};
use rookery_storage::trash::{TRASH_PAGE_MAX, TrashCursor, TrashPage};

use super::{
    message::{Op, PurgedRow, Reply, RowReply, RowTarget},
    page::PageText,
    read::{SeenRow, View},
};
use crate::registry::AppHandle;

/// Reads of a row's content before a restore is refused as `unavailable`: more than one only when
/// the row changes in between.
const READS_MAX: usize = 3;
/// Reads of the whole trash for one list: more than one only when the app changes meanwhile.
const LOOKS_MAX: usize = 3;
/// Lists of trash, over all apps, that are made at a time, two of an account at most: one that is shown
/// with the live rows is read whole, and may be as large as an app. Others wait.
pub(crate) const TRASH_PERMITS: usize = 3;

impl AppHandle {
    /// A page of the rows in the trash, the last deleted first: `{"items", "next_cursor"}`.
    ///
    /// # Errors
    /// `collection_not_found`, `credential_scope_forbidden`, `forbidden`; `invalid_request` for a
    /// cursor that does not belong here.
    pub async fn deleted_rows(
        &self,
        caller: &Caller,
        collection: &str,
        limit: PageLimit,
        cursor: Option<&str>,
    ) -> Result<String> {
        let view = self.view(caller).await?;
        let state = view.collection(collection)?;
        Access::new(&view.standing, &state.decl).trash()?;
        let key = &self.env().key;
        let mut scope = format!("trash {} {collection} ", self.id());
        view.standing.principal.write_json(&mut scope);
        let after = cursor
            .map(|token| {
                let (deleted_at, key) = ListCursor::parse(token, key, &scope)?.place::<String>()?;
                Ok::<_, Error>(TrashCursor { deleted_at, key: key.into() })
            })
            .transpose()?;
        let permit = self.env().trash.permit(view.root.record.owner).await?;
        let page = self.trash_page(collection, after, limit.get()).await?;
        drop(permit);
        self.until_published().await?;
        let next = page.next.map(|TrashCursor { deleted_at, key: row_key }| {
            ListCursor::behind(deleted_at, row_key).to_token(key, &scope)
        });
        let rows = page.rows.into_iter().map(SeenRow::from).collect();
        Ok(PageText::new(rows, next.as_deref(), None).collect())
    }

    /// What the caller sees, and the whole trash of a collection as it was then.
    ///
    /// In an app that changes constantly the trash may be newer than the view. No row then appears
    /// twice; one restored meanwhile is missing, and the feed reports it from the page's number on.
    /// Since that number has passed, no entity tag caches the page.
    pub(super) async fn with_trash(
        &self,
        caller: &Caller,
        collection: &str,
    ) -> Result<(View, Vec<SeenRow>)> {
        let mut looks = 1;
        loop {
            let view = self.view(caller).await?;
            let access = Access::new(&view.standing, &view.collection(collection)?.decl);
            access.list()?;
            access.trash()?;
            let (mut rows, seq) = self.whole_trash(collection).await?;
            if seq != view.root.seq {
                self.until_published().await?;
                if looks < LOOKS_MAX {
                    looks += 1;
                    continue;
                }
            }
            let live = &view.collection(collection)?.rows;
            rows.retain(|seen| live.get(seen.row.key()).is_none());
            return Ok((view, rows));
        }
    }

    /// The whole trash of a collection, and where the app stood after it was read. Pages end,
    /// because each goes on behind the last one and what is deleted meanwhile comes before it.
    async fn whole_trash(&self, collection: &str) -> Result<(Vec<SeenRow>, u64)> {
        let (mut rows, mut after) = (Vec::new(), None);
        loop {
            let limit = TRASH_PAGE_MAX as usize;
            let page = self.trash_page(collection, after, limit).await?;
            rows.extend(page.rows.into_iter().map(SeenRow::from));
            after = page.next;
            if after.is_none() {
                return Ok((rows, page.seq));
            }
        }
    }

    /// A page of the trash, without rows whose time there is over: the sweeper may just not have come
    /// yet. They are the last ones.
    async fn trash_page(
        &self,
        collection: &str,
        after: Option<TrashCursor>,
        limit: usize,
    ) -> Result<TrashPage> {
        let mut page = self.env().store.trash(self.id(), collection, after, limit).await?;
        let (all, since) = (page.rows.len(), self.env().trash_begins());
        page.rows.retain(|row| row.deleted_at >= since);
        if page.rows.len() < all {
            page.next = None;
        }
        Ok(page)
    }

    /// The row in the trash at a key, with its content.
    ///
    /// # Errors
    /// `row_not_found` where its time there is over; those of storage.
    pub(super) async fn trashed(&self, collection: &str, key: &str) -> Result<Option<SeenRow>> {
        let found = self.env().store.trashed_row(self.id(), collection, key).await?;
        let begins = self.env().trash_begins();
        match found {
            Some(row) if row.deleted_at.is_some_and(|at| at < begins) => {
                Err(Error::row_not_found())
            }
            found => Ok(found),
        }
    }

    /// Brings a row back from the trash; a live row is answered as it is.
    ///
    /// # Errors
    /// `collection_not_found`, `forbidden`, `row_not_found`; `row_schema_violation` and
    /// `unique_conflict` when it does not fit any more; those of [`AppHandle::apply`].
    pub async fn restore_row(
        &self,
        caller: &Caller,
        collection: &str,
        key: &str,
    ) -> Result<RowReply> {
        let view = self.view(caller).await?;
        Access::new(&view.standing, &view.collection(collection)?.decl).trash()?;
        row_key::check(key).map_err(|_| Error::row_not_found())?;
        drop(view);
        let mut tried = 1;
        loop {
            let trashed = self.trashed(collection, key).await?;
            let bytes = trashed.as_ref().map_or(0, |seen| seen.row.data().len());
            let op = Op::Restore {
                collection: collection.into(),
                key: key.into(),
                trashed: trashed.map(|seen| seen.row),
            };
            match self.apply_with(caller.clone(), op, None, bytes).await {
                Ok(Reply::Row(reply)) => return Ok(reply),
                Ok(Reply::Stale) if tried < READS_MAX => tried += 1,
                Ok(Reply::Stale) => return Err(Error::unavailable("the row keeps changing")),
                Ok(other) => return Err(other.unexpected()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Destroys a row, live, in the trash or detached.
    ///
    /// # Errors
    /// `collection_not_found`, `credential_scope_forbidden`, `purge_forbidden`, `row_not_found`,
    /// `conflict`; those of [`AppHandle::apply`].
    pub async fn purge_row(
        &self,
        caller: &Caller,
        collection: &str,
        mut target: RowTarget,
    ) -> Result<PurgedRow> {
        if let Some(condition) = target.if_match.as_mut().filter(|it| it.names_times()) {
            // The actor knows the version of a row in the trash, but not when it was written.
            match self.row(caller, collection, &target.key, true).await {
                Ok(seen) => condition.know(seen.row.version, seen.row.updated_at),
                Err(error) if error.code.retryable() => return Err(error),
                // The actor says what is to be said, in its order.
                Err(_) => {}
            }
        }
        let op = Op::Purge { collection: collection.into(), target };
        match self.apply(caller.clone(), op).await? {
            Reply::Purged(left) => Ok(left),
            other => Err(other.unexpected()),
        }
    }
}
