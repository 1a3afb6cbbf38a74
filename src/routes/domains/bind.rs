//! `POST /v1/apps/:id/domain`: binds a custom domain to an app.

use axum::{extract::State, response::Response};
use rookery_domain::{Error, ErrorCode, Result, domains::DomainName, id::HumanId};
use rookery_storage::domains::Domain;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::{
    Enabled,
    record::{DomainBody, DomainRole},
};
use crate::{
    domains::DomainView,
    error::ApiResult,
    http::{
        auth::permission::AppOwner,
        body::{BodyBound, RequestBody, StrictJson},
        idempotency::{IdempotencyKey, answer_once},
        reply::Created,
    },
    state::{AppState, State as Shared},
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[
    ErrorCode::CustomDomainsNotEnabled,
    ErrorCode::DomainInvalid,
    ErrorCode::DomainExists,
    ErrorCode::DomainTaken,
    ErrorCode::Conflict,
    ErrorCode::AccountQuotaExceeded,
    ErrorCode::PayloadTooLarge,
];

/// Which domain.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDomain {
    /// A bare DNS name.
    #[schema(example = "app.example.com")]
    domain: String,
}

impl RequestBody for NewDomain {
    const BOUND: BodyBound = BodyBound::Small;
}

/// Binds a custom domain
///
/// The answer names the DNS records to set: a TXT record that proves control, with a value drawn
/// anew for each binding, and the CNAME record that leads requests here. `GET` of the same path
/// looks for the TXT record, and with it the domain is the app's. The oldest proven domain whose
/// requests arrive serves the app, the others redirect to it. Before it is proven a binding keeps nobody
/// else away; whoever proves control first has the name, and then it is `domain_taken` for every other
/// app, unless that one is closed; where it is the caller's own, `details.app` says which one it is.
/// The same domain again is `domain_exists`. An app has at most 20 domains (`conflict`).
#[utoipa::path(
    post, path = "/v1/apps/{id}/domain", tag = "Domains", request_body = NewDomain,
    operation_id = "bind_domain",
    params(IdempotencyKey),
    responses((status = 201, description = "The binding", body = DomainBody)),
)]
pub async fn bind(
    owner: AppOwner,
    Enabled(custom): Enabled,
    State(state): State<AppState>,
    key: IdempotencyKey,
    StrictJson(body): StrictJson<NewDomain>,
) -> ApiResult<Response> {
    let name = custom.parse(&body.domain)?;
    let AppOwner { app, caller, .. } = owner;
    let route = format!("POST /v1/apps/{}/domain", app.id());
    let (principal, account) = (caller.principal(), caller.account());
    let shared = state.clone();
    let id = app.id();
    let shown = move |domain: &Domain| {
        let view = DomainView::stored(domain.clone());
        let record = DomainBody::new(&custom, DomainRole::Pending, view);
        Created { location: format!("/v1/apps/{id}/domain"), record }
    };
    let make = move |keep| async move {
        let max = shared.config.limits.max_domains_per_account;
        match shared.rooms.domains().bind(&app, account, name.clone(), max, keep).await {
            Err(error) if error.code == ErrorCode::DomainTaken => {
                Err(taken(&shared, account, &name).await?.unwrap_or(error))
            }
            bound => bound,
        }
    };
    let request = key.request(principal, &[&route], &body);
    answer_once(shown, |kept| state.rooms.directory.idempotent(request, kept, make)).await
}

/// The refusal of a name that an app has of which `account` is the owner too, and may be told.
async fn taken(
    state: &Shared,
    account: Option<HumanId>,
    name: &DomainName,
) -> Result<Option<Error>> {
    let holder = state.rooms.domains().at(name.as_str());
    let (Some(holder), Some(account)) = (holder, account) else { return Ok(None) };
    let apps = state.rooms.apps();
    // It may be destroyed meanwhile.
    let Ok(app) = apps.by_id(holder.app).await else { return Ok(None) };
    let record = app.record();
    if !apps.acts_as_owner(&record, account)? {
        return Ok(None);
    }
    let (id, slug) = (record.id, record.slug.to_string());
    let message = format!("`{name}` is another app's: that of your app {slug}");
    let details = json!({"app": {"id": id, "slug": slug}});
    Ok(Some(Error::new(ErrorCode::DomainTaken, message).with_details(details)))
}
