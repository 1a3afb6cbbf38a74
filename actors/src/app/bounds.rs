//! A collection's retention bounds as its owner sees them: whose bound holds on each axis, and
//! what pruning by them would take.

use rookery_domain::{
    Error, Result, Timestamp,
    app::AppStatus,
    manifest::Retention,
    principal::Caller,
    retention::{self, RetentionPatch},
};

use super::{
    message::{AppOp, Op},
    read::View,
};
use crate::registry::AppHandle;

/// Bounds of one collection, and their effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetentionState {
    /// The manifest's.
    pub author: Retention,
    /// The owner's.
    pub owner: Retention,
    /// What is in force.
    pub effective: Retention,
    /// Rows beyond it now.
    pub due: u64,
    /// When pruning will next find a row to take, as long as the app is live.
    pub next_run_at: Option<Timestamp>,
}

impl AppHandle {
    /// The bounds of `collection`, as they are, or as they would be after `preview`.
    ///
    /// # Errors
    /// `collection_not_found`; `invalid_request` for a preview out of bounds.
    pub async fn retention(
        &self,
        caller: &Caller,
        collection: &str,
        preview: RetentionPatch,
    ) -> Result<RetentionState> {
        let view = self.view(caller).await?;
        state(&view, self.env().clock.now(), collection, preview)
    }

    /// Changes the owner's bounds of `collection`; what is in force afterwards.
    ///
    /// # Errors
    /// `collection_not_found`, `forbidden`; `invalid_request` for a bound out of range; those of
    /// [`AppHandle::apply`].
    pub async fn set_retention(
        &self,
        caller: &Caller,
        collection: &str,
        patch: RetentionPatch,
    ) -> Result<RetentionState> {
        let op = Op::App(AppOp::Retention { collection: collection.into(), patch });
        self.apply(caller.clone(), op).await?;
        let told = self.retention(caller, collection, RetentionPatch::default()).await;
        // It is in force, whatever hinders telling what that is now.
        told.map_err(Error::after_change)
    }
}

fn state(
    view: &View,
    now: Timestamp,
    collection: &str,
    preview: RetentionPatch,
) -> Result<RetentionState> {
    let state = view.collection(collection)?;
    let author = state.decl.retention;
    let owner = view.root.record.retention.get(collection).copied().unwrap_or_default();
    let owner = preview.apply(owner)?;
    let effective = retention::effective(author, owner);
    let created = || state.rows.iter().map(|row| row.created_at);
    let due = retention::rows_due(effective, now, state.rows.len() as u64, created());
    // Of an app in the trash, or one that is closed, nothing is pruned.
    let is_live = view.root.record.status == AppStatus::Live;
    let next_run_at =
        is_live.then(|| retention::next_run(effective, now, due, created().next())).flatten();
    Ok(RetentionState { author, owner, effective, due, next_run_at })
}
