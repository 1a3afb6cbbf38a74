//! A permission is asked for again once a body was waited for: whoever sends it may hold the last byte
//! back while a key is revoked, a session ended, an app given to somebody else.
//!
//! The permission leaves a note in the request, and whoever reads a body looks at the note
//! ([`body`](crate::http::body)), so no route has to think of it.

use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use futures::future::BoxFuture;
use http::request::Parts;

use super::permission::Permission;
use crate::{error::ApiError, state::AppState};

/// How long after it was granted a permission is taken for good without a question. A body that comes
/// with its head is here long before; to hold one back for less gains nothing over a request that was
/// sent a moment earlier.
pub const UNASKED_MAX: Duration = Duration::from_millis(10);

/// That a permission was granted, and how it is asked for.
#[derive(Clone, Copy)]
struct Granted {
    at: Instant,
    ask: for<'a> fn(&'a mut Parts, &'a AppState) -> BoxFuture<'a, Result<(), ApiError>>,
}

/// Notes that `P` was granted to a request. One that changes nothing has no body to wait for, and a
/// permission that asks for no credential cannot end.
pub(super) fn note<P>(parts: &mut Parts)
where
    P: Permission + FromRequestParts<AppState, Rejection = ApiError> + Send,
{
    if !P::SCHEMES.is_empty() && !parts.method.is_safe() {
        parts.extensions.insert(Granted { at: Instant::now(), ask: ask::<P> });
    }
}

fn ask<'a, P>(parts: &'a mut Parts, state: &'a AppState) -> BoxFuture<'a, Result<(), ApiError>>
where
    P: FromRequestParts<AppState, Rejection = ApiError> + Send,
{
    Box::pin(async { P::from_request_parts(parts, state).await.map(drop) })
}

/// Asks again for what the request was let in by, if that was a while ago.
///
/// # Errors
/// What the permission refuses now.
pub async fn check(parts: &mut Parts, state: &AppState) -> Result<(), ApiError> {
    match parts.extensions.get::<Granted>().copied() {
        Some(Granted { at, ask }) if at.elapsed() > UNASKED_MAX => ask(parts, state).await,
        _ => Ok(()),
    }
}
