//! `/v1/self/profile`: who the human is.

use axum::{Json, extract::State};
use rookery_actors::{Directory, directory::Human};
use rookery_domain::{
    Error, ErrorCode, Timestamp, field_patch::FieldPatch, human_name::HumanName, id::HumanId,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        body::{BodyBound, RequestBody, StrictJson},
    },
    openapi::ids,
    state::AppState,
};

/// Errors of reading it.
pub const READ_ERRORS: &[ErrorCode] = &[];
/// Errors of changing it.
pub const UPDATE_ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// A human, to itself.
#[derive(Debug, Serialize, ToSchema)]
pub struct Profile {
    /// Its id.
    #[schema(value_type = ids::HumanId)]
    id: HumanId,
    /// Its address, when it gave one.
    #[schema(format = Email)]
    email: Option<String>,
    /// Whether the address is proven.
    email_verified: bool,
    /// The stored name.
    name: Option<String>,
    /// The name that others are shown: the stored one, else what precedes the `@` of the proven address,
    /// else `human` and the end of the id.
    display_name: String,
    /// Whether mail about the product is welcome.
    marketing_consent: bool,
    /// How the human heard of the service; null until it has said so.
    signup_source: Option<String>,
    /// When the account was made.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl Profile {
    /// The profile of a human.
    ///
    /// # Errors
    /// `unavailable`, `internal`.
    pub async fn of(state: &AppState, human: &Human) -> Result<Self, Error> {
        let signup_source = state.rooms.directory.signup_source(human.id).await?;
        Ok(Self {
            id: human.id,
            email: human.email.clone(),
            email_verified: human.email_verified_at.is_some(),
            name: human.name.clone(),
            display_name: Directory::display_name(human),
            marketing_consent: human.marketing_consent,
            signup_source,
            created_at: human.created_at,
        })
    }
}

/// What is to change.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProfilePatch {
    /// The new name, one line of at most 100 characters; null or empty clears it, and an absent
    /// one stays.
    #[serde(default)]
    #[schema(value_type = Option<String>, max_length = 100)]
    name: FieldPatch<String>,
}

impl RequestBody for ProfilePatch {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Shows the human its profile.
#[utoipa::path(
    get, path = "/v1/self/profile", tag = "Account",
    responses((status = 200, description = "The profile", body = Profile)),
)]
pub async fn read_profile(
    caller: HumanSession,
    State(state): State<AppState>,
) -> ApiResult<Json<Profile>> {
    let human = state.rooms.directory.human(caller.human)?;
    let human = human.ok_or_else(Error::internal)?;
    Ok(Json(Profile::of(&state, &human).await?))
}

/// Changes the human's name.
#[utoipa::path(
    patch, path = "/v1/self/profile", tag = "Account", request_body = ProfilePatch,
    responses((status = 200, description = "The profile", body = Profile)),
)]
pub async fn update_profile(
    caller: HumanSession,
    state: State<AppState>,
    StrictJson(body): StrictJson<ProfilePatch>,
) -> ApiResult<Json<Profile>> {
    let name = match body.name {
        FieldPatch::Keep => return read_profile(caller, state).await,
        FieldPatch::Clear => String::new(),
        FieldPatch::Set(name) => name,
    };
    let name = HumanName::parse("name", &name)?;
    let human = state.rooms.directory.rename_human(caller.human, name).await?;
    Ok(Json(Profile::of(&state, &human).await.map_err(Error::after_change)?))
}
