//! What the routes of sharing have in common: asking the app once for one idempotency key. What is
//! shared is in the module of each noun.

use std::sync::Arc;

use http::StatusCode;
use rookery_actors::{
    AppHandle,
    app::message::{Idempotency, Op, Renderer, Reply},
};
use rookery_domain::{
    Result,
    idempotency::{Idempotent, IdempotentRequest, StoredResponse},
    principal::Caller,
};
use serde::Serialize;

use crate::http::{
    idempotency::{IdempotencyKey, hash_json},
    reply::{Created, to_json},
};

/// A POST of the owner that makes something of an app.
pub(crate) struct OwnerPost {
    /// The app.
    pub(crate) app: AppHandle,
    /// Who asks.
    pub(crate) caller: Caller,
    /// Verb and path behind the app, with the ids that are in it.
    pub(crate) route: String,
    /// The caller's key, if it sent one.
    pub(crate) key: IdempotencyKey,
}

impl OwnerPost {
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
    ) -> Result<Idempotent<Reply>> {
        let render = move |reply: &Reply| {
            let Created { location, record } = kept(reply)?;
            let status = StatusCode::CREATED.as_u16();
            Some(StoredResponse { status, location: Some(location), body: to_json(&record) })
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
    ) -> Result<Idempotent<Reply>> {
        let render = move |reply: &Reply| {
            let status = StatusCode::OK.as_u16();
            Some(StoredResponse { status, location: None, body: to_json(&kept(reply)?) })
        };
        self.ask(op, body, render).await
    }

    /// The first response, where the request was answered before: for what has to be done, or checked,
    /// before the app is asked. Answers that are not durable yet the app alone knows.
    ///
    /// # Errors
    /// `conflict` when the key came with another body; `unavailable`.
    pub(crate) async fn first_response(
        &self,
        body: &impl Serialize,
    ) -> Result<Option<StoredResponse>> {
        match self.idempotent(body) {
            Some(request) => self.app.first_response(&request).await,
            None => Ok(None),
        }
    }

    /// The request as it is known again, if it has a key.
    fn idempotent(&self, body: &impl Serialize) -> Option<IdempotentRequest> {
        let key = self.key.0.as_deref()?;
        let id = self.app.id().to_string();
        Some(IdempotentRequest::new(
            self.caller.principal(),
            &[&self.route, &id, key],
            hash_json(body),
        ))
    }

    async fn ask(
        self,
        op: Op,
        body: &impl Serialize,
        render: impl Fn(&Reply) -> Option<StoredResponse> + Send + Sync + 'static,
    ) -> Result<Idempotent<Reply>> {
        let request = self.idempotent(body);
        let Self { app, caller, .. } = self;
        let Some(request) = request else {
            return app.apply(caller, op).await.map(Idempotent::Fresh);
        };
        // What is kept for a reply of another kind than was asked for: the first caller is told `internal`, too.
        let none = StoredResponse { status: 500, location: None, body: String::new() };
        let idempotency = Idempotency {
            request,
            collection: None,
            location_base: String::new(),
            render: Some(Renderer(Arc::new(move |reply, _| {
                render(reply).unwrap_or_else(|| none.clone())
            }))),
        };
        Ok(match app.apply_idempotent(caller, op, idempotency, 0).await? {
            Reply::Replayed(kept) => Idempotent::Replayed(kept),
            reply => Idempotent::Fresh(reply),
        })
    }
}
