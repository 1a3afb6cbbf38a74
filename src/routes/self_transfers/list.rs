//! `GET /v1/self/transfers`: what is offered to the human.

use axum::extract::State;
use rookery_domain::{ErrorCode, id::TransferId};

use crate::{
    error::ApiResult,
    http::{auth::permission::HumanSession, paging::Paging, params::StrictQuery, reply::Page},
    routes::transfers::record::TransferBody,
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[];

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
    let page = query.of("/v1/self/transfers", caller.human.uuid(), &state)?;
    let human = super::human(&state, caller.human)?;
    let Some(email) = human.proven_email() else {
        return Ok(Page { items: Vec::new(), next_cursor: None });
    };
    let after = page.after(TransferId::from_uuid);
    let (offers, next) = state.rooms.control().offers_to(email, after, page.limit).await?;
    let items: Result<_, _> = offers.iter().map(|offer| TransferBody::of(&state, offer)).collect();
    let next_cursor = next.map(|(at, id)| page.cursor((at, id.uuid())));
    Ok(Page { items: items?, next_cursor })
}
