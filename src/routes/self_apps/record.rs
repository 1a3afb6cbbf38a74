//! An app as one human sees it: the app's record, and what it is to this human.

use std::collections::HashSet;

use rookery_actors::{AppHandle, control::AppDetail};
use rookery_domain::{
    ErrorCode, Result, Timestamp,
    id::{AppId, HumanId},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    routes::apps::record::{self, AppRecordBody},
    state::AppState,
};

/// What a human is to an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OwnRole {
    /// It is the human's.
    Owner,
    /// It belongs to an organization that the human administers, and acts for as its owner.
    Admin,
    /// The human joined it.
    Member,
}

/// An app, and what it is to the human.
#[derive(Serialize, ToSchema)]
pub struct OwnApp {
    /// The app; a member is not shown its share link, nor what it may not count.
    #[serde(flatten)]
    app: AppRecordBody,
    /// What the human is to it.
    role: OwnRole,
    /// Whether the human marked it.
    favorite: bool,
    /// When the human opened it last, in the list of those.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    last_viewed_at: Option<Timestamp>,
}

/// What a human is to an app that it acts as the owner of; `None` when it does not.
fn owners_role(state: &AppState, app: &AppHandle, human: HumanId) -> Result<Option<OwnRole>> {
    let record = app.record();
    if record.owner == human {
        return Ok(Some(OwnRole::Owner));
    }
    let acts = state.rooms.apps().acts_as_owner(&record, human)?;
    Ok(acts.then_some(OwnRole::Admin))
}

/// Shows apps to one human.
pub struct OwnApps<'a> {
    state: &'a AppState,
    human: HumanId,
    favorites: HashSet<AppId>,
}

impl<'a> OwnApps<'a> {
    /// For `human`.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn open(state: &'a AppState, human: HumanId) -> Result<Self> {
        let favorites = state.rooms.directory.favorites(human).await?;
        Ok(Self { state, human, favorites })
    }

    /// An app as the human sees it; `None` when it is out of the human's sight.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn show(
        &self,
        app: &AppHandle,
        detail: AppDetail,
        last_viewed_at: Option<Timestamp>,
    ) -> Result<Option<OwnApp>> {
        let state = self.state;
        let owner = record::identified_owner(state, detail.record.owner)?;
        let (app, role) = if let Some(role) = owners_role(state, app, self.human)? {
            (AppRecordBody::new(state, detail, owner), role)
        } else {
            let Some(member) = state.rooms.directory.member(app, self.human).await? else {
                return Ok(None);
            };
            let shared = state.rooms.control().shared_collections(app, &detail, &member).await;
            let shared = match shared {
                Ok(shared) => shared,
                // It has gone meanwhile.
                Err(error) if error.code == ErrorCode::AppNotFound => return Ok(None),
                Err(error) => return Err(error),
            };
            (AppRecordBody::of_member(state, detail, owner, shared), OwnRole::Member)
        };
        let favorite = self.favorites.contains(&app.id);
        Ok(Some(OwnApp { app, role, favorite, last_viewed_at }))
    }
}
