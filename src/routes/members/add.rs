//! `POST /v1/apps/:id/members`: adds a member by its address.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use rookery_actors::{
    app::{access_ops::AccessReply, message::Reply},
    directory::Invited,
    task::to_the_end,
};
use rookery_domain::{
    Error, ErrorCode, Result, app::AppRecord, email::Email, id::HumanId, idempotency::Idempotent,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::record::MemberBody;
use crate::{
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{BodyBound, RequestBody, StrictJson},
        idempotency::{IdempotencyKey, replay},
        reply::Created,
    },
    mail::{Letter, sender},
    push::{Addressee, PushMessage},
    routes::sharing::OwnerPost,
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
    StrictJson(body): StrictJson<NewMember>,
) -> ApiResult<Response> {
    let email = Email::parse(&body.email)?;
    let AppOwner { app, caller, .. } = owner;
    let adder = caller.account();
    let making = OwnerPost { app: app.clone(), caller, route: "POST members".to_owned(), key };
    if let Some(kept) = making.first_response(&body).await? {
        return Ok(replay(kept));
    }
    let made = to_the_end(async move {
        let (directory, role) = (&state.rooms.directory, body.custom_role.as_deref());
        let invited = state.rooms.control().invitation(directory, &app, &email, role).await?;
        let (invited, op) = invited;
        let (id, human) = (app.id(), invited.human.clone());
        let kept = move |reply: &Reply| match reply {
            Reply::Access(AccessReply::Member(member)) => Some(Created {
                location: format!("/v1/apps/{id}/members/{}", member.human),
                record: MemberBody::of_human(member, Some(&human)),
            }),
            _ => None,
        };
        let answer = kept.clone();
        let reply = match making.create(op, &body, kept).await? {
            Idempotent::Replayed(kept) => return Ok(replay(kept)),
            Idempotent::Fresh(reply) => reply,
        };
        let record = app.record();
        if let Err(error) = tell(&state, &invited, &email, &record, adder) {
            // The member is there all the same; its address finds the app without the mail too.
            tracing::warn!(app.id = %record.id, %error, "an invitation was not mailed");
        }
        Ok(answer(&reply).ok_or_else(Error::unknown_outcome)?.into_response())
    });
    Ok(made.await?)
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
    let by = sender(state.rooms.directory.human(by.unwrap_or(app.owner))?.as_deref());
    if invited.has_account {
        let message = PushMessage::shared(&app.slug, &by);
        state.push.tell(Addressee::Human(invited.human.id), message);
        return Ok(());
    }
    if !state.mailer.admits_notice(email) {
        return Ok(());
    }
    let link = format!("{}/authorize?app={}", state.public_url, app.slug);
    let letter = Letter::invitation(&state.public_url, &link, &app.slug, &by, email.as_str())?;
    state.mailer.send(email, letter)
}
