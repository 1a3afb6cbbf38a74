//! What the routes of sharing have in common: asking the app once for one idempotency key, and
//! when something ends. What is shared is in the module of each noun.

use std::sync::Arc;

use axum::response::Response;
use http::StatusCode;
use rookery_actors::{
    AppHandle,
    app::{
        message::{Op, Renderer, Reply, StoredAnswer},
        once::Once,
    },
};
use rookery_domain::{Error, Result, Timestamp, principal::Caller};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::apps::replay;
use crate::http::{
    idempotency::IdempotencyKey,
    reply::{Created, RawJson},
};

/// A POST of the owner that makes something of an app.
pub(crate) struct Making {
    /// The app.
    pub(crate) app: AppHandle,
    /// Who asks.
    pub(crate) caller: Caller,
    /// Verb and path behind the app, with the ids that are in it.
    pub(crate) route: String,
    /// The caller's key, if it sent one.
    pub(crate) key: IdempotencyKey,
}

/// How the app answered.
pub(crate) enum Made {
    /// For the first time.
    Now(Reply),
    /// As before, without secrets.
    Before(StoredAnswer),
}

impl Making {
    /// Has the app do `op`. `kept` is the record as it may be kept and given again, with its path.
    ///
    /// # Errors
    /// What the app answers; `conflict` when the key came with another body.
    pub(crate) async fn ask<T: Serialize>(
        self,
        op: Op,
        body: &impl Serialize,
        kept: impl Fn(&Reply) -> Option<Created<T>> + Send + Sync + 'static,
    ) -> Result<Made> {
        let Self { app, caller, route, key } = self;
        let Some(key) = key.0 else {
            return app.apply(caller, op, None, 0).await.map(Made::Now);
        };
        let render = move |reply: &Reply| {
            let created = kept(reply);
            let location = created.as_ref().map(|created| created.location.clone());
            StoredAnswer {
                status: StatusCode::CREATED.as_u16(),
                location: location.filter(|path| !path.is_empty()),
                body: created.map(|created| replay::to_json(&created.record)).unwrap_or_default(),
            }
        };
        let once = Once {
            scope: replay::scope(caller.principal(), &route, Some(app.id()), &key),
            // As it was understood: spaces and the order of members make no difference.
            body_hash: Sha256::digest(replay::to_json(body)).into(),
            collection: None,
            location_base: String::new(),
            render: Some(Renderer(Arc::new(move |reply, _| render(reply)))),
        };
        Ok(match app.apply_once(caller, op, once, 0).await? {
            Reply::Replayed(first) => Made::Before(first),
            reply => Made::Now(reply),
        })
    }
}

/// The first answer once more, with 201.
pub(crate) fn again(first: StoredAnswer) -> Response {
    replay::again(first.status, first.location.as_deref(), first.body)
}

/// The first answer once more, of a route that answers 200.
pub(crate) fn again_ok(first: StoredAnswer) -> Response {
    let mut response = axum::response::IntoResponse::into_response(RawJson(first.body));
    crate::http::idempotency::mark_replayed(&mut response);
    response
}

/// When something ends: at a time, or so many seconds from now; never, when neither is said.
///
/// # Errors
/// `invalid_request` for both, for what is over, and for what is too far away.
pub(crate) fn end(
    now: Timestamp,
    expires_at: Option<Timestamp>,
    expires_in_s: Option<u32>,
    max_s: i64,
) -> Result<Option<Timestamp>> {
    let end = match (expires_at, expires_in_s) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(Error::invalid("`expires_in_s`: means the same as `expires_at`"));
        }
        (Some(at), None) => at,
        (None, Some(seconds)) => now.plus_seconds(seconds.into()),
    };
    let member = if expires_at.is_some() { "expires_at" } else { "expires_in_s" };
    if end <= now {
        return Err(Error::invalid(format!("`{member}`: is over already")));
    }
    if end > now.plus_seconds(max_s) {
        let days = max_s / 86_400;
        return Err(Error::invalid(format!("`{member}`: is more than {days} days from now")));
    }
    Ok(Some(end))
}
