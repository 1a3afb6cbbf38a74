//! `GET /v1/apps/advisories`: what the account's apps open to strangers, worst first.

use std::{cmp::Reverse, sync::Arc};

use axum::extract::State;
use rookery_domain::{
    Error, ErrorCode, Result,
    advisory::Finding,
    id::AppId,
    query::{ListCursor, PageLimit},
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::{
    error::ApiResult,
    http::{auth::permission::ClaimedAgent, params::StrictQuery, reply::Page},
    openapi::{ids, shapes::FindingRecord},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// The page of the report.
#[derive(Debug, Clone, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Query {
    /// Findings on the page, 1 to 200; 50 when left out.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<usize>,
    /// Where the page begins: `next_cursor` of the page before.
    #[param(min_length = 1)]
    cursor: Option<String>,
}

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
    get, path = "/v1/apps/advisories", tag = "Apps", params(Query),
    responses((status = 200, description = "Findings, worst first", body = Page<Advisory>)),
)]
pub async fn advisories(
    caller: ClaimedAgent,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Query>,
) -> ApiResult<Page<Advisory>> {
    let limit = PageLimit::of(query.limit)?.get();
    let scope = format!("advisories {}", caller.owner);
    let key = &state.rooms.key;
    let skip = query.cursor.as_deref().map(|token| {
        let cursor = ListCursor::parse(token, key, &scope)?;
        cursor.after.parse().map_err(|_| Error::invalid("`cursor` does not belong to this list"))
    });
    let skip: usize = skip.transpose()?.unwrap_or(0);
    let mut items = report(&state, caller).await?;
    items.sort_by_key(|Advisory { finding, .. }| {
        (Reverse(finding.severity), finding.audience, Reverse(finding.rows))
    });
    // The report is made anew for each page: a cursor is a number of findings, and what changes
    // in between may be seen twice or not at all.
    let more = items.len() > skip.saturating_add(limit);
    let items = items.into_iter().skip(skip).take(limit).collect();
    let after = skip.saturating_add(limit).to_string();
    let next_cursor = more.then(|| ListCursor { after }.to_token(key, &scope));
    Ok(Page { items, next_cursor })
}

async fn report(state: &AppState, caller: ClaimedAgent) -> Result<Vec<Advisory>> {
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
    Ok(items)
}
