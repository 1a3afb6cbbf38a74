//! `GET /v1/apps/advisories`: what the account's apps open to strangers, worst first.

use std::sync::Arc;

use axum::extract::State;
use rookery_domain::{ErrorCode, advisory::Finding, id::AppId};
use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    error::ApiResult,
    http::{auth::permission::ClaimedAgent, paging::Paging, params::StrictQuery, reply::Page},
    openapi::{ids, shapes::FindingRecord},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// One operation on one collection that is open to strangers.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Advisory {
    /// The app.
    app: AdvisedApp,
    /// The finding.
    #[serde(flatten)]
    #[schema(value_type = FindingRecord)]
    finding: Finding,
}

/// The app that a finding is about.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AdvisedApp {
    /// Its id.
    #[schema(value_type = ids::AppId)]
    id: AppId,
    /// Its slug.
    #[schema(value_type = String)]
    slug: Arc<str>,
    /// Where its page is.
    url: String,
    /// The version that was looked at.
    version: u32,
}

/// Reviews every app of the account for collections that it opens to people it does not know.
///
/// The evidence comes from the real rows. No app is woken for it.
#[utoipa::path(
    get, path = "/v1/apps/advisories", tag = "Apps", params(Paging),
    responses((status = 200, description = "Findings, worst first", body = Page<Advisory>)),
)]
pub async fn advisories(
    caller: ClaimedAgent,
    State(state): State<AppState>,
    StrictQuery(paging): StrictQuery<Paging>,
) -> ApiResult<Page<Advisory>> {
    let page = paging.by_number("/v1/apps/advisories", caller.owner.uuid(), &state)?;
    let mut items = Vec::new();
    for app in state.rooms.control().advisories(caller.owner).await? {
        let advised = AdvisedApp {
            id: app.record.id,
            slug: app.record.slug.clone(),
            url: state.app_url(app.record.id, &app.record.slug),
            version: app.record.version,
        };
        let advisory =
            |finding: &Finding| Advisory { app: advised.clone(), finding: finding.clone() };
        items.extend(app.report.findings.iter().map(advisory));
    }
    items.sort_by_key(|advisory| advisory.finding.order_among_apps());
    Ok(page.show(items))
}
