//! A form that a signed-in human sends. Where the session ended while the form stood open, what was
//! typed is kept on a page that sends it again: in its body alone, in no address and no cookie.

use askama::Template;
use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts as _, Request},
    response::{IntoResponse as _, Response},
};
use http::{StatusCode, request::Parts};

use super::{
    app::data::ROW_FORM_BYTES_MAX,
    desk::{Desk, way_back},
    form, frame, show, sign_in,
};
use crate::{error::ApiResult, http::client::RequestContext, pages::shell::Shell, state::AppState};

/// Who sends a form, and the form, unread.
pub struct Posted(pub Desk, pub Body);

/// What was sent, to be sent again.
#[derive(Template)]
#[template(path = "session_ended.html")]
struct SessionEndedPage {
    shell: Shell,
    sign_in: String,
    /// Where the form goes.
    path: String,
    fields: Vec<(String, String)>,
}

impl FromRequest<AppState> for Posted {
    type Rejection = Response;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        match Desk::open(&mut parts, state).await {
            Ok(Ok(desk)) => Ok(Self(desk, body)),
            Ok(Err(_)) => {
                Err(keep(parts, body, state).await.unwrap_or_else(|failed| failed.into_response()))
            }
            Err(failed) => Err(failed.into_response()),
        }
    }
}

/// The page that keeps a form. One that cannot be read is not kept, and the page says no more than
/// that nothing was saved.
async fn keep(mut parts: Parts, body: Body, state: &AppState) -> ApiResult<Response> {
    let RequestContext { address, .. } =
        RequestContext::from_request_parts(&mut parts, state).await?;
    let fields = form(state, &parts.headers, address, body, ROW_FORM_BYTES_MAX).await;
    let page = SessionEndedPage {
        shell: frame(state, None)?,
        sign_in: sign_in::address(&way_back(&parts.uri, &parts.headers)),
        path: parts.uri.to_string(),
        fields: fields.unwrap_or_default(),
    };
    Ok(show(state, StatusCode::UNAUTHORIZED, &page)?)
}
