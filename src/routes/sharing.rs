//! What the routes of sharing have in common: asking the app once for one idempotency key, and
//! when something ends. What is shared is in the module of each noun.

use std::sync::Arc;

use http::StatusCode;
use rookery_actors::{
    AppHandle,
    app::message::{OnceInApp, Op, Renderer, Reply},
};
use rookery_domain::{
    Error, Result, Timestamp,
    idempotency::{Answered, KeptAnswer, Once},
    principal::Caller,
    time::DAY_S,
};
use serde::Serialize;

use crate::http::{
    idempotency::{IdempotencyKey, hash_json},
    reply::{Created, to_json},
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

impl Making {
    /// Has the app do `op`, to be answered 201. `kept` is the record as it may be kept and given
    /// again, with its path.
    ///
    /// # Errors
    /// What the app answers; `conflict` when the key came with another body.
    pub(crate) async fn create<T: Serialize>(
        self,
        op: Op,
        body: &impl Serialize,
        kept: impl Fn(&Reply) -> Option<Created<T>> + Send + Sync + 'static,
    ) -> Result<Answered<Reply>> {
        let render = move |reply: &Reply| {
            let Created { location, record } = kept(reply)?;
            let status = StatusCode::CREATED.as_u16();
            Some(KeptAnswer { status, location: Some(location), body: to_json(&record) })
        };
        self.ask(op, body, render).await
    }

    /// The same for a record that was there before, to be answered 200.
    ///
    /// # Errors
    /// As [`create`](Self::create).
    pub(crate) async fn change<T: Serialize>(
        self,
        op: Op,
        body: &impl Serialize,
        kept: impl Fn(&Reply) -> Option<T> + Send + Sync + 'static,
    ) -> Result<Answered<Reply>> {
        let render = move |reply: &Reply| {
            let status = StatusCode::OK.as_u16();
            Some(KeptAnswer { status, location: None, body: to_json(&kept(reply)?) })
        };
        self.ask(op, body, render).await
    }

    async fn ask(
        self,
        op: Op,
        body: &impl Serialize,
        render: impl Fn(&Reply) -> Option<KeptAnswer> + Send + Sync + 'static,
    ) -> Result<Answered<Reply>> {
        let Self { app, caller, route, key } = self;
        let Some(key) = key.0 else {
            return app.apply(caller, op, None, 0).await.map(Answered::First);
        };
        // Of a reply that nobody asked for the first caller is told `internal`, too.
        let none = KeptAnswer { status: 500, location: None, body: String::new() };
        let id = app.id().to_string();
        let once = OnceInApp {
            once: Once::new(caller.principal(), &[&route, &id, &key], hash_json(body)),
            collection: None,
            location_base: String::new(),
            render: Some(Renderer(Arc::new(move |reply, _| {
                render(reply).unwrap_or_else(|| none.clone())
            }))),
        };
        Ok(match app.apply_once(caller, op, once, 0).await? {
            Reply::Replayed(kept) => Answered::Again(kept),
            reply => Answered::First(reply),
        })
    }
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
        let days = max_s / DAY_S;
        return Err(Error::invalid(format!("`{member}`: is more than {days} days from now")));
    }
    Ok(Some(end))
}
