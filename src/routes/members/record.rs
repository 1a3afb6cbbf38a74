//! The record of somebody in an app.

use std::sync::Arc;

use rookery_actors::{Directory, directory::Human};
use rookery_domain::{
    Result, Timestamp, access::Tier, app::AppRecord, id::HumanId, manifest::Manifest,
    members::Member,
};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    http::idempotency::ShownOnce,
    openapi::{ids, words::MemberRole},
    state::State,
};

/// Somebody in an app.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct MemberBody {
    /// The human.
    #[schema(value_type = ids::HumanId)]
    human_id: HumanId,
    /// Its address: of the owner only a proven one, of others the one that they were invited by.
    #[schema(format = Email)]
    email: Option<String>,
    /// Its name, as others are shown it.
    name: Option<String>,
    /// `owner` for the app's owner, `member` for everybody else.
    #[schema(value_type = MemberRole)]
    role: Tier,
    /// The custom role of the manifest that it has beside that.
    #[schema(value_type = Option<String>)]
    custom_role: Option<Arc<str>>,
    /// Whether the manifest declares that role; one that it does not gives nothing.
    custom_role_declared: bool,
    /// When it was added; of the owner, when the app was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl MemberBody {
    /// The record of a member, whose role was just found declared.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded.
    pub fn of(state: &State, member: &Member) -> Result<Self> {
        let human = state.rooms.directory.human(member.human)?;
        Ok(Self::of_human(member, human.as_deref()))
    }

    /// The record as it is under the manifest in force.
    #[must_use]
    pub fn under(self, manifest: &Manifest) -> Self {
        let declared = |role: &Arc<str>| manifest.declares_role(role);
        let custom_role_declared = self.custom_role.as_ref().is_some_and(declared);
        Self { custom_role_declared, ..self }
    }

    /// The record of a member whose account is at hand; its role was just found declared.
    #[must_use]
    pub fn of_human(member: &Member, human: Option<&Human>) -> Self {
        Self {
            human_id: member.human,
            email: human.and_then(|human| human.email.clone()),
            name: human.map(Directory::invited_name),
            role: Tier::Member,
            custom_role: member.custom_role.clone(),
            custom_role_declared: member.custom_role.is_some(),
            created_at: member.created_at,
        }
    }

    /// The record of the owner.
    ///
    /// # Errors
    /// `unavailable`, while accounts are being loaded.
    pub fn of_owner(state: &State, app: &AppRecord) -> Result<Self> {
        let human = state.rooms.directory.human(app.owner)?;
        let human = human.as_deref();
        Ok(Self {
            human_id: app.owner,
            email: human.and_then(Human::proven_email).map(str::to_owned),
            name: human.map(Directory::display_name),
            role: Tier::Owner,
            custom_role: None,
            custom_role_declared: false,
            created_at: app.created_at,
        })
    }
}

impl ShownOnce for MemberBody {
    fn without_secrets(self) -> Self {
        self
    }
}
