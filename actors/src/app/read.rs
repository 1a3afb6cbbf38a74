//! Reads: they take the published root and are done, beside everything the actor does.
//!
//! What a caller may see is decided here against that root, with the same rules the actor uses.
//! Long scans run on a small pool of their own, so that they never hold up a writer.

use std::{hash::Hasher as _, sync::Arc};

use rookery_domain::{
    Error, Result, Timestamp,
    access::{Abilities, Access, Authorship, RowScope, Standing, read_rights},
    challenge,
    principal::Caller,
    query::{FeedCursor, PageBinding, PageCursor, PageLimit, RowQuery},
    row::Row,
    row_key,
    time::MICROS_PER_SECOND,
};
use rookery_storage::trash::TrashedRow;

use super::{
    decide::check_changeable,
    page::PageText,
    root::{CollectionState, Root},
    scan::{INLINE_SCAN_ROWS_MAX, Scan},
    standing::standing,
};
use crate::registry::AppHandle;

/// What a list asks for.
#[derive(Debug, Clone)]
pub struct ListQuery {
    /// Filter and sort.
    pub rows: RowQuery,
    /// Rows on the page.
    pub limit: PageLimit,
    /// Where the page begins: the token of the page before.
    pub cursor: Option<String>,
    /// The owner sees rows in the trash as well.
    pub include_deleted: bool,
}

/// A page of rows.
#[derive(Debug)]
pub struct RowPage {
    /// `{"items": [...], "next_cursor": ..., "feed_cursor": ...}`.
    pub body: PageText,
    /// Strong entity tag of the body.
    pub etag: String,
}

/// A row as one caller sees it.
#[derive(Debug, Clone)]
pub struct SeenRow {
    /// The row.
    pub row: Arc<Row>,
    /// When it went to the trash, if it did.
    pub deleted_at: Option<Timestamp>,
}

impl From<TrashedRow> for SeenRow {
    fn from(trashed: TrashedRow) -> Self {
        Self { row: Arc::new(trashed.row), deleted_at: Some(trashed.deleted_at) }
    }
}

/// Why a caller may not write a row; what it may is `None`.
#[derive(Debug, Clone)]
pub struct Refusals {
    /// What an update of it answers.
    pub update: Option<Error>,
    /// What deleting it answers.
    pub delete: Option<Error>,
}

/// A caller in front of one published state.
pub(crate) struct View {
    pub(crate) root: Arc<Root>,
    pub(crate) standing: Standing,
}

impl View {
    /// A number of everything the caller reads here and now; tokens are bound to it.
    pub(crate) fn rights(&self) -> u64 {
        read_rights(&self.standing, &self.root.manifest)
    }

    pub(crate) fn feed_cursor(&self, seq: u64) -> FeedCursor {
        FeedCursor { history: self.root.record.history, seq, rights: self.rights() }
    }

    /// The rows of a declared collection.
    ///
    /// # Errors
    /// `collection_not_found`.
    pub(crate) fn collection(&self, collection: &str) -> Result<&CollectionState> {
        self.root.collection(collection).ok_or_else(|| Error::collection_not_found(collection))
    }
}

/// Looks for a row before it is taken for absent: a second one only where it may have left the trash
/// between the look at the live rows and the look at the trash.
const LOOKS_MAX: usize = 2;

impl AppHandle {
    /// `caller` in front of the state that is published now.
    ///
    /// # Errors
    /// Those of [`standing`] and [`check_readable`](rookery_domain::app::AppStatus::check_readable).
    pub(crate) async fn view(&self, caller: &Caller) -> Result<View> {
        let (env, root) = (self.env(), self.root().await?);
        let standing = standing(env, &root, caller, env.clock.now())?;
        // No credential stands in for the owner of a closed app.
        root.record.status.check_readable(standing.is_owner(), self.from_trash)?;
        Ok(View { root, standing })
    }

    /// One row by key.
    ///
    /// # Errors
    /// `collection_not_found`, `credential_scope_forbidden`; `forbidden` for rows in the trash,
    /// which are the owner's; `row_not_found`.
    pub async fn row(
        &self,
        caller: &Caller,
        collection: &str,
        key: &str,
        include_deleted: bool,
    ) -> Result<SeenRow> {
        let mut missed_at = None;
        for _ in 0..LOOKS_MAX {
            let view = self.view(caller).await?;
            let state = view.collection(collection)?;
            let access = Access::new(&view.standing, &state.decl);
            // Before anything is known of the row: the refusal tells nothing about the key.
            if include_deleted {
                access.trash()?;
            }
            let told = |error| view.root.beside_detached(error, &view.standing, collection);
            let row = state.rows.get(key);
            if row.is_some() || !include_deleted {
                access.read(row.map(|row| Authorship::from(&**row))).map_err(told)?;
                let row = row.cloned().ok_or_else(|| told(Error::row_not_found()))?;
                return Ok(SeenRow { row, deleted_at: None });
            }
            row_key::check(key).map_err(|_| Error::row_not_found())?;
            if missed_at == Some(view.root.seq) {
                return Err(told(Error::row_not_found()));
            }
            let trashed = self.trashed(collection, key).await?;
            self.until_published().await?;
            if let Some(trashed) = trashed {
                return Ok(trashed);
            }
            // It may have left the trash since the view was taken: then a fresh one has it.
            missed_at = Some(view.root.seq);
        }
        Err(Error::row_not_found())
    }

    /// What stands against changing a row, and against deleting it, as far as the caller's rights
    /// go; a row in the trash can be neither.
    ///
    /// # Errors
    /// `collection_not_found`; those of [`standing`] and
    /// [`check_readable`](rookery_domain::app::AppStatus::check_readable).
    pub async fn refusals(&self, caller: &Caller, collection: &str, key: &str) -> Result<Refusals> {
        let view = self.view(caller).await?;
        let state = view.collection(collection)?;
        let row = state.rows.get(key).map(|row| Authorship::from(&**row));
        let access = Access::new(&view.standing, &state.decl);
        let changeable = |()| check_changeable(&state.decl);
        Ok(Refusals {
            update: access.update(row).and_then(changeable).err(),
            delete: access.delete(row).and_then(changeable).err(),
        })
    }

    /// What stands against a new row of the caller without an answer to a challenge.
    ///
    /// # Errors
    /// Those of [`AppHandle::refusals`].
    pub async fn create_refusal(&self, caller: &Caller, collection: &str) -> Result<Option<Error>> {
        let view = self.view(caller).await?;
        let state = view.collection(collection)?;
        let refused = Access::new(&view.standing, &state.decl).create().err();
        Ok(refused.or_else(|| state.decl.challenge.then(|| challenge::required(collection))))
    }

    /// What a visitor may do in each collection, by name. Nothing is told of what it may not know:
    /// the names are in the page that it was served.
    ///
    /// # Errors
    /// Those of [`standing`] and [`check_readable`](rookery_domain::app::AppStatus::check_readable).
    pub async fn abilities(&self, caller: &Caller) -> Result<Vec<(Arc<str>, Abilities)>> {
        let view = self.view(caller).await?;
        let of = |state: &CollectionState| {
            (Arc::clone(&state.decl.name), Abilities::of(&view.standing, &state.decl))
        };
        Ok(view.root.collections.iter().map(of).collect())
    }

    /// Live rows the caller may count.
    ///
    /// # Errors
    /// `collection_not_found`, `credential_scope_forbidden`, `collection_count_forbidden`.
    pub async fn count(&self, caller: &Caller, collection: &str) -> Result<u64> {
        let view = self.view(caller).await?;
        let state = view.collection(collection)?;
        let scope = Access::new(&view.standing, &state.decl).count()?;
        if scope == RowScope::All {
            return Ok(state.rows.len() as u64);
        }
        let rows = state.rows.clone();
        let is_long = rows.len() > INLINE_SCAN_ROWS_MAX;
        let count = move || {
            rows.iter().filter(|row| scope.admits(Authorship::from(&***row))).count() as u64
        };
        if is_long {
            let owner = view.root.record.owner;
            return self.env().scanning.run_for(owner, caller.network(), count).await;
        }
        Ok(count())
    }

    /// The entity tag that [`AppHandle::rows`] would answer with, without looking at a row.
    ///
    /// # Errors
    /// As [`AppHandle::rows`], as far as permissions go.
    pub async fn rows_etag(
        &self,
        caller: &Caller,
        collection: &str,
        query: &ListQuery,
    ) -> Result<String> {
        let view = self.view(caller).await?;
        let access = Access::new(&view.standing, &view.collection(collection)?.decl);
        let scope = access.list()?;
        if query.include_deleted {
            access.trash()?;
        }
        Ok(etag(&view, collection, scope, query, self.env().trash_begins()))
    }

    /// A page of rows.
    ///
    /// # Errors
    /// `collection_not_found`, `credential_scope_forbidden`, `collection_read_forbidden`;
    /// `invalid_request` for a cursor that does not belong here, and for a sort that looks misspelt.
    pub async fn rows(
        &self,
        caller: &Caller,
        collection: &str,
        query: ListQuery,
    ) -> Result<RowPage> {
        let view = self.view(caller).await?;
        let access = Access::new(&view.standing, &view.collection(collection)?.decl);
        access.list()?;
        let network = caller.network();
        if !query.include_deleted {
            return self.rows_of(view, network, collection, query, Vec::new()).await;
        }
        // Whoever may not see it is refused without waiting for a permit.
        access.trash()?;
        let owner = view.root.record.owner;
        drop(view);
        // Held until the page is chosen: then only its rows are left of the whole trash.
        let _permit = self.env().trash.permit(owner).await?;
        let (view, trash) = self.with_trash(caller, collection).await?;
        self.rows_of(view, network, collection, query, trash).await
    }

    /// A page of what the caller sees there, with these rows of the trash. A long look takes turns with
    /// those that other networks take at the owner's apps.
    async fn rows_of(
        &self,
        view: View,
        network: Option<u64>,
        collection: &str,
        query: ListQuery,
        trash: Vec<SeenRow>,
    ) -> Result<RowPage> {
        let state = view.collection(collection)?;
        let scope = Access::new(&view.standing, &state.decl).list()?;
        query.rows.check_sort(&state.decl)?;
        let binding = PageBinding {
            app: self.id(),
            collection,
            caller: view.standing.principal,
            scope: scope.fingerprint(),
            query: &query.rows,
            include_deleted: query.include_deleted,
        };
        let key = &self.env().key;
        let cursor = query
            .cursor
            .as_deref()
            .map(|token| PageCursor::parse(token, key, &binding))
            .transpose()?;
        let etag = etag(&view, collection, scope, &query, self.env().trash_begins());
        let after = cursor.as_ref().map(|cursor| cursor.after.clone());
        let scan = Scan {
            collection: state.clone(),
            bytes: view.root.totals.bytes,
            trash,
            scope,
            query: query.rows.clone(),
            after,
            limit: query.limit.get(),
        };
        let (rows, more) = if scan.is_long() {
            let owner = view.root.record.owner;
            self.env().scanning.run_for(owner, network, move || scan.run()).await??
        } else {
            scan.run()?
        };
        let feed = cursor.map_or_else(|| view.feed_cursor(view.root.seq), |cursor| cursor.feed);
        let next = rows.last().filter(|_| more).and_then(|last| {
            let after = query.rows.place(&last.row)?;
            Some(PageCursor { after, feed }.to_token(key, &binding))
        });
        let feed = feed.to_token(key, self.id());
        Ok(RowPage { body: PageText::new(rows, next.as_deref(), Some(&feed)), etag })
    }
}

/// An entity tag of what a query gives a caller at a point of the app's history: the body need
/// not be made to know that it has not changed. It holds cursors, which are the caller's own.
fn etag(
    view: &View,
    collection: &str,
    scope: RowScope,
    query: &ListQuery,
    trash_begins: Timestamp,
) -> String {
    let mut hash = rustc_hash::FxHasher::default();
    hash.write(view.root.record.history.uuid().as_bytes());
    hash.write_u64(view.root.seq);
    hash.write_u8(view.standing.principal.kind as u8);
    hash.write(&view.standing.principal.id);
    // The body holds a feed cursor, which the rights in the whole app are part of.
    hash.write_u64(view.rights());
    hash.write_u64(scope.fingerprint());
    hash.write(collection.as_bytes());
    hash.write_u8(0);
    hash.write(query.rows.filter_text().as_bytes());
    hash.write_u8(0);
    hash.write(query.rows.sort_text().as_bytes());
    hash.write_usize(query.limit.get());
    hash.write(query.cursor.as_deref().unwrap_or_default().as_bytes());
    hash.write_u8(u8::from(query.include_deleted));
    if query.include_deleted {
        // Rows leave the trash with time alone, before an event says that they are purged.
        hash.write_i64(trash_begins.0.div_euclid(MICROS_PER_SECOND));
    }
    // The dot keeps it apart from rows' tags.
    format!("\"{:x}.{:016x}\"", view.root.seq, hash.finish())
}
