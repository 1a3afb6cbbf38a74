//! Who speaks on the operator's listener: the boundary has asked for the token, where there is
//! one. What changes something must not come from a foreign page.

use axum::extract::FromRequestParts;
use http::{HeaderMap, header, request::Parts, uri::Authority};
use rookery_domain::{Error, ErrorCode};

use crate::{
    error::ApiError,
    http::{
        auth::permission::{Permission, Scheme},
        client::RequestContext,
    },
    state::AppState,
};

/// An operator who looks.
#[derive(Debug, Clone, Copy)]
pub struct Operator;

/// An operator who does something: switched on by `ops.actions`, never from a foreign page.
#[derive(Debug, Clone, Copy)]
pub struct ActingOperator;

impl Permission for Operator {
    const SCHEMES: &'static [Scheme] = &[Scheme::OperatorToken];
    const OPTIONAL: bool = true;
    const WHO: &'static str = "operators";
    const CODES: &'static [ErrorCode] = &[ErrorCode::Unauthorized, ErrorCode::Forbidden];
}

impl Permission for ActingOperator {
    const SCHEMES: &'static [Scheme] = &[Scheme::OperatorToken];
    const OPTIONAL: bool = true;
    const WHO: &'static str = "operators, where `ops.actions` is on";
    const CODES: &'static [ErrorCode] = &[ErrorCode::Unauthorized, ErrorCode::Forbidden];
}

impl FromRequestParts<AppState> for Operator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        RequestContext::check_stray(parts)?;
        Ok(Self)
    }
}

impl FromRequestParts<AppState> for ActingOperator {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        if is_foreign(&parts.headers) {
            let message = "another page may not do this";
            return Err(Error::new(ErrorCode::Forbidden, message).into());
        }
        if !state.config.ops.actions {
            let message = "actions are switched off: ops.actions";
            return Err(Error::new(ErrorCode::Forbidden, message).into());
        }
        RequestContext::check_stray(parts)?;
        Ok(Self)
    }
}

/// Whether a page of another origin sent this. Programs send neither header; the operators' own
/// pages send both, with the listener's name.
fn is_foreign(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let site = text("sec-fetch-site");
    let origin = text(header::ORIGIN.as_str());
    let host = text(header::HOST.as_str());
    let same_site = site.is_none_or(|site| site == "same-origin");
    let same_origin = origin.is_none_or(|origin| {
        let name = origin.split_once("://").map(|(_, name)| name);
        name.is_some() && name == host && name.is_some_and(|n| n.parse::<Authority>().is_ok())
    });
    !(same_site && same_origin)
}
