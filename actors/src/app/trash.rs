//! The trash of a collection: its list, and bringing a row back. Both are the owner's.
//!
//! The contents of deleted rows are in storage only, so a restore reads them first and hands them
//! to the actor, which takes them if the row has not changed meanwhile.

use std::cmp::Reverse;

use rookery_domain::{
    Error, Result,
    access::Access,
    principal::Caller,
    query::{ListCursor, PageLimit},
    row_key,
};

use super::{
    answers::must_look_again,
    message::{Op, Reply, RowReply},
    page::PageText,
    read::SeenRow,
};
use crate::registry::AppHandle;

/// Reads of a row's content before a restore is refused as `unavailable`: more than one only when
/// the row changes in between.
const READS_MAX: usize = 3;

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
        let shelf = view.shelf(collection)?;
        Access::new(&view.standing, &shelf.decl).trash()?;
        let key = &self.env().key;
        let mut scope = format!("trash {} {collection} ", self.id());
        view.standing.principal.write_json(&mut scope);
        let after = cursor
            .map(|token| {
                let after = ListCursor::parse(token, key, &scope)?.after;
                place(&after).ok_or_else(|| Error::invalid("`cursor` does not belong to this list"))
            })
            .transpose()?;
        let mut rows = self.env().store.trash(self.id(), collection).await?;
        rows.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
        let begin = after.map_or(0, |(at, key)| {
            rows.partition_point(|row| order(row) <= (Reverse(at), key.as_str()))
        });
        let rest = rows.get(begin..).unwrap_or_default();
        let page = rest.get(..limit.get()).unwrap_or(rest);
        let next = page.last().filter(|_| page.len() < rest.len()).map(|last| {
            let (Reverse(at), row_key) = order(last);
            ListCursor { after: format!("{at} {row_key}") }.to_token(key, &scope)
        });
        Ok(PageText::new(page.to_vec(), next.as_deref(), None).collect())
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
        Access::new(&view.standing, &view.shelf(collection)?.decl).trash()?;
        row_key::check(key).map_err(|_| Error::row_not_found())?;
        drop(view);
        let mut tried = 1;
        loop {
            let store = &self.env().store;
            let trashed = store.trashed_row(self.id(), collection, key).await?;
            let bytes = trashed.as_ref().map_or(0, |seen| seen.row.data.len());
            let op = Op::Restore {
                collection: collection.into(),
                key: key.into(),
                trashed: trashed.map(|seen| seen.row),
            };
            match self.apply(caller.clone(), op, None, bytes).await {
                Ok(Reply::Row(reply)) => return Ok(reply),
                Ok(_) => return Err(Error::internal(false)),
                Err(error) if must_look_again(&error) && tried < READS_MAX => tried += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

/// The last deleted first; rows of one moment by key.
fn order(seen: &SeenRow) -> (Reverse<i64>, &str) {
    (Reverse(seen.deleted_at.map_or(0, |at| at.0)), &seen.row.key)
}

fn place(after: &str) -> Option<(i64, String)> {
    let (at, key) = after.split_once(' ')?;
    Some((at.parse().ok()?, key.to_owned()))
}
