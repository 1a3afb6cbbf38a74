//! An app as one human sees it: the app's record, and what it is to this human.

use std::collections::HashSet;

use rookery_actors::{AppHandle, control::AppDetail};
use rookery_domain::{
    Error, Result, Timestamp,
    id::{AppId, HumanId},
};
use rookery_storage::self_apps;
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    routes::apps::record::{self, AppRecordBody},
    state::AppState,
};

/// What a human is to an app.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
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
    /// The app; a member is not shown its share link.
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

/// What a human is to an app; `None` when it does not see it.
///
/// # Errors
/// `unavailable`, `internal`.
pub async fn role(state: &AppState, app: &AppHandle, human: HumanId) -> Result<Option<OwnRole>> {
    let record = app.record();
    if record.owner == human {
        return Ok(Some(OwnRole::Owner));
    }
    if state.rooms.apps().acts_as_owner(&record, human)? {
        return Ok(Some(OwnRole::Admin));
    }
    let member = state.authenticator.is_member(app, human).await?;
    Ok(member.then_some(OwnRole::Member))
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
        let favorites = self_apps::favorites(&state.rooms.db, human).await.map_err(Error::from)?;
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
        let Some(role) = role(self.state, app, self.human).await? else { return Ok(None) };
        let owner = record::identified_owner(self.state, detail.record.owner)?;
        let app = match role {
            OwnRole::Owner | OwnRole::Admin => AppRecordBody::new(self.state, detail, owner),
            OwnRole::Member => AppRecordBody::without_secrets(self.state, detail, owner),
        };
        let favorite = self.favorites.contains(&app.id);
        Ok(Some(OwnApp { app, role, favorite, last_viewed_at }))
    }
}
