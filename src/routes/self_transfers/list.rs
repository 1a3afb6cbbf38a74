//! `GET /v1/self/transfers`: what is offered to the human.

use axum::extract::State;
use rookery_domain::{ErrorCode, id::TransferId};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    error::ApiResult,
    http::{
        auth::permission::HumanSession,
        cursor::List,
        params::StrictQuery,
        reply::{Page, page_limit},
    },
    routes::transfers::record::TransferBody,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

/// Which page.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Paging {
    /// Offers on a page, 1 to 200; 50 when absent.
    limit: Option<usize>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists the apps that are offered to the human's verified address, newest first.
///
/// An address that the account has not verified is offered nothing.
#[utoipa::path(
    get, path = "/v1/self/transfers", tag = "Transfers", params(Paging),
    responses((status = 200, description = "A page of offers", body = Page<TransferBody>)),
)]
pub async fn list(
    caller: HumanSession,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<Paging>,
) -> ApiResult<Page<TransferBody>> {
    let limit = page_limit(query.limit)?;
    let owner = caller.human.uuid();
    let list = List { route: "/v1/self/transfers", owner, key: &state.rooms.key };
    let after = list.position(query.cursor.as_deref())?;
    let after = after.map(|(at, id)| (at, TransferId::from_uuid(id)));
    let human = super::human(&state, caller.human)?;
    let Some(email) = human.email.as_deref().filter(|_| human.email_verified_at.is_some()) else {
        return Ok(Page { items: Vec::new(), next_cursor: None });
    };
    let (offers, next) = state.rooms.control().offers_to(email, after, limit).await?;
    let items: Result<_, _> = offers.iter().map(|offer| TransferBody::of(&state, offer)).collect();
    let next_cursor = next.map(|(at, id)| list.cursor(at, id.uuid()));
    Ok(Page { items: items?, next_cursor })
}
