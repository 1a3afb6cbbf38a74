//! `POST /v1/self/push-subscriptions`: keeps a browser's push subscription.

use axum::{
    extract::State,
    response::{IntoResponse as _, Response},
};
use rookery_domain::{
    Error, ErrorCode, Principal, Timestamp,
    idempotency::{Idempotent, StoredResponse},
};
use rookery_storage::push::{Kept, NewSubscription};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        body::{BodyBound, RequestBody, StrictJson, strict::whole},
        idempotency::{Answer, IdempotencyKey, ShownOnce, ask_once, replay},
        reply,
    },
    push::{Subscription, subscription::hash},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::Conflict, ErrorCode::PayloadTooLarge];
/// Where the subscriptions of the account are: they have no addresses of their own.
const LOCATION: &str = "/v1/self/push-subscriptions";
/// What a repeated request repeats.
const ROUTE: &str = "POST /v1/self/push-subscriptions";

/// A browser's `PushSubscription`, as its `toJSON()` gives it.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PushSubscriptionJson {
    /// Where its push service takes messages: an https address on the public internet.
    #[schema(example = "https://push.example.net/wpush/v2/gAAAAABk")]
    endpoint: String,
    /// What messages for it are encrypted with.
    keys: PushKeys,
    /// When it ends by itself, in milliseconds since 1970. `expiration_time` is understood too.
    #[serde(rename = "expirationTime", alias = "expiration_time", default)]
    #[serde(deserialize_with = "whole::<0, 253_402_300_799_999, _, _>")]
    #[schema(maximum = 253_402_300_799_999_i64)]
    expiration_time: Option<u64>,
}

/// Keys of a browser's push subscription, in base64url.
#[derive(Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PushKeys {
    /// Its public key: an uncompressed point of P-256.
    p256dh: String,
    /// Its authentication secret: 16 bytes.
    auth: String,
}

impl RequestBody for PushSubscriptionJson {
    const BOUND: BodyBound = BodyBound::Small;
}

/// A push subscription; its keys are not shown.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
pub struct PushSubscription {
    /// What it is known by.
    endpoint: String,
    /// Since when the human has it.
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it was saved last.
    #[schema(value_type = String, format = DateTime)]
    updated_at: Timestamp,
    /// When it ends by itself, if the browser said so.
    #[schema(value_type = Option<String>, format = DateTime)]
    expires_at: Option<Timestamp>,
}

impl ShownOnce for PushSubscription {
    /// Whoever knows an endpoint may speak to its browser: it is kept sealed, and in no answer.
    fn without_secrets(self) -> Self {
        Self { endpoint: String::new(), ..self }
    }
}

/// Saves a browser's push subscription, or updates the one with the same endpoint.
///
/// The browser is told when an app is shared with the human or offered to it, and when it is added
/// to an organization, as long as the session lasts in which it subscribed. Messages are JSON:
/// `{"web_push": 8030, "notification": {"title", "body", "navigate", "tag", "lang", "dir"}}`. An
/// account has 20 subscriptions; above that the one that was saved longest ago goes. One that
/// another account had is this account's from now on: the browser is in this human's hands. One
/// that its push service does not know any more is deleted.
#[utoipa::path(
    post, path = "/v1/self/push-subscriptions", tag = "Account",
    request_body = PushSubscriptionJson, params(IdempotencyKey),
    responses(
        (status = 200, description = "The account had it; it is updated", body = PushSubscription),
        (status = 201, description = "Saved", body = PushSubscription),
    ),
)]
pub async fn save_push_subscription(
    caller: HumanSession,
    State(state): State<AppState>,
    key: IdempotencyKey,
    StrictJson(body): StrictJson<PushSubscriptionJson>,
) -> ApiResult<Response> {
    let principal = Principal::human(caller.human);
    let request = key.request(principal, &[ROUTE], &body);
    let PushSubscriptionJson { endpoint, keys, expiration_time } = body;
    let browser = Subscription::parse(&endpoint, &keys.p256dh, &keys.auth, state.push.egress())?;
    let expires_at = expiration_time.map(at_millis).transpose()?;
    let now = state.clock.now();
    let new = NewSubscription {
        hash: hash(browser.endpoint()),
        human: caller.human,
        session: caller.session,
        sealed: browser.seal(&state.rooms.key),
        expires_at,
    };
    let sent = endpoint.clone();
    let shown = move |kept: &Kept| Answer {
        location: kept.is_new.then(|| LOCATION.to_owned()),
        record: PushSubscription {
            endpoint: endpoint.clone(),
            created_at: kept.created_at,
            updated_at: now,
            expires_at,
        },
    };
    let directory = state.rooms.directory.clone();
    let make = async move |answer| directory.keep_push_subscription(new, now, answer).await;
    let directory = &state.rooms.directory;
    Ok(match ask_once(shown, |kept| directory.idempotent(request, kept, make)).await? {
        Idempotent::Fresh(answer) => answer.into_response(),
        Idempotent::Replayed(kept) => replay(with_endpoint(kept, sent)?),
    })
}

/// The answer that was given before, with what was left out of what is kept: the request that it
/// answers again has the same body.
fn with_endpoint(kept: StoredResponse, endpoint: String) -> rookery_domain::Result<StoredResponse> {
    let record = serde_json::from_str::<PushSubscription>(&kept.body);
    let record = PushSubscription { endpoint, ..record.map_err(|_| Error::internal())? };
    Ok(StoredResponse { body: reply::to_json(&record), ..kept })
}

fn at_millis(millis: u64) -> rookery_domain::Result<Timestamp> {
    let micros = i64::try_from(millis).ok().and_then(|millis| millis.checked_mul(1_000));
    let at = micros.map(Timestamp).filter(|at| *at <= Timestamp::LAST);
    at.ok_or_else(|| Error::invalid("`expirationTime`: must be milliseconds since 1970"))
}
