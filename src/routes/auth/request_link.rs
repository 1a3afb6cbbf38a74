//! `POST /v1/auth/request-link`: mails a sign-in link, to a known address and to an unknown one.

use std::net::IpAddr;

use axum::{Json, extract::State};
use http::StatusCode;
use rookery_actors::Directory;
use rookery_domain::{ErrorCode, email::Email, network::Network, redirect::ReturnPath};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::Public,
        body::{BodyBound, RequestBody, StrictJson},
        client::RequestContext,
    },
    mail::SignIn,
    state::{AppState, State as Shared},
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::PayloadTooLarge];

/// Who wants to sign in.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkRequest {
    /// The address that gets the link.
    #[schema(format = Email, max_length = 254, example = "you@example.org")]
    email: String,
    /// The page of this site that the sign-in leads to, as a path; `/` when absent or empty.
    #[serde(default)]
    #[schema(example = "/device")]
    redirect_to: Option<String>,
}

impl RequestBody for LinkRequest {
    const BOUND: BodyBound = BodyBound::Small;
}

/// The link is on its way, if the address can receive mail.
#[derive(Debug, Serialize, ToSchema)]
pub struct LinkRequested {
    /// Always `sent`: the answer does not tell whether the address is known.
    #[schema(value_type = String, example = "sent")]
    status: &'static str,
    /// Seconds that the link is good for.
    expires_in: i64,
}

/// Mails a link that signs in once. An address that was sent many lately is `rate_limited`, whoever
/// asks and whether or not it is known; and so is a network that has asked for many, whomever for.
#[utoipa::path(
    post, path = "/v1/auth/request-link", tag = "Sign-in", request_body = LinkRequest,
    responses((status = 202, description = "Sent", body = LinkRequested)),
)]
pub async fn request_link(
    _: Public,
    State(state): State<AppState>,
    client: RequestContext,
    StrictJson(body): StrictJson<LinkRequest>,
) -> ApiResult<(StatusCode, Json<LinkRequested>)> {
    let email = Email::parse(&body.email)?;
    let path = ReturnPath::named(body.redirect_to.as_deref(), |path| {
        ReturnPath::of_site("redirect_to", path)
    })?;
    send(&state, client.address, &email, path.as_ref()).await?;
    let answer = LinkRequested { status: "sent", expires_in: Directory::LINK_TTL_S };
    Ok((StatusCode::ACCEPTED, Json(answer)))
}

/// Makes a link and mails it, as somebody at `address` asks. Its address comes from the settings,
/// whatever the request says.
pub(crate) async fn send(
    state: &Shared,
    address: IpAddr,
    email: &Email,
    path: Option<&ReturnPath>,
) -> ApiResult<()> {
    state.mailer.count_sign_in_link(Network::from(address), email)?;
    let token = state.rooms.directory.request_link(email, path).await?;
    let link = format!("{}/sign-in/confirm?token={}", state.public_url, token.expose());
    let valid_minutes = Directory::LINK_TTL_S / 60;
    let letter = SignIn { site: &state.public_url, link: &link, valid_minutes };
    Ok(state.mailer.send_sign_in_link(email, letter.write()?)?)
}
