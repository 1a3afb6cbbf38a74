//! `GET /v1/self/usage`: what the account holds and may hold, and what it used this month.

use axum::{Json, extract::State};
use rookery_domain::ErrorCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::MonthBody;
use crate::{error::ApiResult, http::auth::permission::HumanSession, state::AppState};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// What is held, and how much may be.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct MeterBody {
    /// Held now.
    used: u64,
    /// May be held; null where the account as a whole has no bound.
    limit: Option<u64>,
}

/// What an account holds.
#[derive(Debug, Serialize, ToSchema)]
pub struct MetersBody {
    /// Apps. Those in the trash have room of their own, as much as `limit` and a hundred at least; only
    /// what is beyond that counts.
    apps: MeterBody,
    /// Rows of these apps: live and detached. Those in the trash do not count.
    rows: MeterBody,
    /// Bytes of their keys and data. Bounded for each app, see `per_app`.
    storage_bytes: MeterBody,
}

/// What each app may hold.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
pub struct PerAppBody {
    /// Rows.
    rows_limit: u64,
    /// Bytes of their keys and data.
    storage_bytes_limit: u64,
}

/// What an account holds and uses.
#[derive(Debug, Serialize, ToSchema)]
pub struct AccountUsageBody {
    /// What it holds, beside the limits in force.
    meters: MetersBody,
    /// The limits of each app.
    per_app: PerAppBody,
    /// What its apps used in the running calendar month (UTC).
    month: MonthBody,
}

/// Shows what the account holds and uses.
///
/// `meters` are as committed now. `month` sums up the account's apps while they were its own: an
/// app that was purged or handed over stays in what was used before.
#[utoipa::path(
    get, path = "/v1/self/usage", tag = "Account",
    responses((status = 200, description = "Meters, limits and the month", body = AccountUsageBody)),
)]
pub(crate) async fn own_usage(
    caller: HumanSession,
    State(state): State<AppState>,
) -> ApiResult<Json<AccountUsageBody>> {
    let found = state.rooms.control().account_meters(caller.human).await?;
    let limits = &state.config.limits;
    // As they count where one more is added.
    let beyond_trash = found.held.trashed.saturating_sub(limits.apps_max().trashed);
    let meter = |used, limit| MeterBody { used, limit };
    Ok(Json(AccountUsageBody {
        meters: MetersBody {
            apps: meter(found.held.apps + beyond_trash, Some(limits.max_apps_per_account)),
            rows: meter(found.held.rows, Some(limits.max_rows_per_account)),
            storage_bytes: meter(found.held.bytes, None),
        },
        per_app: PerAppBody {
            rows_limit: limits.max_rows_per_app,
            storage_bytes_limit: limits.max_storage_bytes_per_app,
        },
        month: MonthBody::new(state.clock.now(), found.month),
    }))
}
