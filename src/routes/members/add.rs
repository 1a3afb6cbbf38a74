//! `POST /v1/apps/:id/members`: adds a member by its address.

use std::sync::Arc;

use axum::{extract::State, response::Response};
use rookery_actors::{
    app::{access_ops::AccessReply, message::Reply},
    directory::{Human, Invited},
    task::to_the_end,
};
use rookery_domain::{
    ErrorCode, Result, app::AppRecord, email::Email, id::HumanId, idempotency::Idempotent,
    members::Member,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{named_role, record::MemberBody};
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{BodyBound, ExactJson, RequestBody},
        idempotency::{IdempotencyKey, answer_once},
        reply::Created,
    },
    mail::{Invitation, sender},
    push::PushMessage,
    state::{AppState, State as Shared},
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];

/// Who is to be added.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMember {
    /// The address.
    #[schema(format = Email, max_length = 254, example = "you@example.org")]
    email: String,
    /// A custom role of the manifest. `role` is understood too.
    #[serde(alias = "role")]
    custom_role: Option<String>,
}

impl RequestBody for NewMember {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Adds a member.
///
/// An address that nobody has proven yet gets an invitation by mail, unless it was sent enough of them
/// lately; who it will be is listed at
/// once, and whoever proves the address is them. Somebody who is a member already, and the owner,
/// are `conflict`. An app has 20,000 members at most.
#[utoipa::path(
    post, path = "/v1/apps/{id}/members", tag = "Sharing", request_body = NewMember,
    params(IdempotencyKey),
    responses((status = 201, description = "The member", body = MemberBody)),
)]
pub async fn add(
    owner: AppOwner,
    State(state): State<AppState>,
    key: IdempotencyKey,
    ExactJson { value: body, bytes }: ExactJson<NewMember>,
) -> ApiResult<Response> {
    let email = Email::parse(&body.email)?;
    let AppOwner { app, caller, .. } = owner;
    let adder = caller.account();
    let id = app.id();
    let request = key.request(caller.principal(), &["POST members", &id.to_string()], &body);
    let role = body.custom_role.map(|name| named_role(&name, &bytes));
    let shown = move |(member, human): &(Arc<Member>, Arc<Human>)| Created {
        location: format!("/v1/apps/{id}/members/{}", member.human),
        record: MemberBody::of_human(member, Some(human)),
    };
    let ask = async move |kept| {
        // Before anybody is invited.
        if let Some(request) = &request
            && let Some(first) = app.first_response(request).await?
        {
            return Ok(Idempotent::Replayed(first));
        }
        to_the_end(async move {
            let directory = &state.rooms.directory;
            let invited = state.rooms.control().invitation(directory, &app, &email, role).await?;
            let (invited, op) = invited;
            let human = invited.human.clone();
            let made = move |reply: &Reply| match reply {
                Reply::Access(AccessReply::Member(member)) => Some((member.clone(), human.clone())),
                _ => None,
            };
            let added = app.idempotent(request, kept, caller, op, made).await?;
            let record = app.record();
            if let Idempotent::Fresh(_) = added
                && let Err(error) = tell(&state, &invited, &email, &record, adder)
            {
                // The member is there all the same; its address finds the app without the mail too.
                tracing::warn!(app.id = %record.id, %error, "an invitation was not mailed");
            }
            Ok(added)
        })
        .await
    };
    answer_once(shown, ask).await
}

/// Mails an invitation, or tells the browsers of somebody who has an account. The link is of this
/// site, whatever the request says.
fn tell(
    state: &Shared,
    invited: &Invited,
    email: &Email,
    app: &AppRecord,
    by: Option<HumanId>,
) -> Result<()> {
    let who = by.unwrap_or(app.owner);
    let by = sender(state.rooms.directory.human(who)?.as_deref());
    if invited.has_account {
        let message = PushMessage::shared(&app.slug, &by);
        state.push.tell(invited.human.id, who, message);
        return Ok(());
    }
    if !state.mailer.admits_notice(email, Some(who)) {
        return Ok(());
    }
    let site = &state.public_url;
    let link = format!("{site}/authorize?app={}", app.slug);
    let invitation =
        Invitation { site, link: &link, app: &app.slug, by: &by, email: email.as_str() };
    state.mailer.send(email, invitation.write()?)
}
