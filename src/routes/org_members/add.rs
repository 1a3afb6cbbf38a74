//! `POST /v1/orgs/:id/members`: adds an account to an organization.

use axum::{extract::State, response::Response};
use rookery_actors::{directory::OrgMemberRecord, task::to_the_end};
use rookery_domain::{ErrorCode, email::Email, idempotency::Idempotent, orgs::OrgRole};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::record::OrgMemberBody;
use crate::{
    error::ApiResult,
    http::{
        auth::org::OrgAdmin,
        body::{BodyBound, RequestBody, StrictJson, strict::optional_word},
        idempotency::{IdempotencyKey, answer_once},
        reply::Created,
    },
    notices::{self, OrgNews},
    openapi::words,
    push::PushMessage,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Who is to be added.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewOrgMember {
    /// The verified address of an account.
    #[schema(format = Email, max_length = 254, example = "you@example.org")]
    email: String,
    /// What it will be: `member` when left out.
    #[serde(default, deserialize_with = "optional_word")]
    #[schema(value_type = Option<words::OrgRoleBody>)]
    role: Option<OrgRole>,
}

impl RequestBody for NewOrgMember {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Adds an existing account to an organization.
///
/// An address that no account has verified is `not_found`, one that is a member already
/// `conflict`. An organization has 1,000 members at most. The member is told by mail.
#[utoipa::path(
    post, path = "/v1/orgs/{id}/members", tag = "Organizations", request_body = NewOrgMember,
    params(IdempotencyKey),
    responses((status = 201, description = "The member", body = OrgMemberBody)),
)]
pub async fn add(
    caller: OrgAdmin,
    State(state): State<AppState>,
    key: IdempotencyKey,
    StrictJson(body): StrictJson<NewOrgMember>,
) -> ApiResult<Response> {
    let email = Email::parse(&body.email)?;
    let role = body.role.unwrap_or(OrgRole::Member);
    let OrgAdmin { org, account, caller } = caller;
    let shown = move |added: &OrgMemberRecord| Created {
        location: format!("/v1/orgs/{org}/members/{}", added.member.human),
        record: OrgMemberBody::of(added),
    };
    let route = format!("POST /v1/orgs/{org}/members");
    let request = key.request(caller.principal(), &[&route], &body);
    let ask = async move |kept| {
        to_the_end(async move {
            let directory = &state.rooms.directory;
            let members = directory.clone();
            let make = move |keep| async move {
                members.add_org_member(org, account, email, role, keep).await
            };
            let added = directory.idempotent(request, kept, make).await?;
            if let Idempotent::Fresh(added) = &added
                // Who added may have left meanwhile; the member is there all the same.
                && let Ok(joined) = directory.org(account, org)
            {
                let (human, name) = (added.member.human, &joined.org.name);
                state.push.tell(human, account, PushMessage::joined(name));
                let news = OrgNews::Joined { by: account, role };
                notices::tell_of_org(&state, human, org, name, news);
            }
            Ok(added)
        })
        .await
    };
    answer_once(shown, ask).await
}
