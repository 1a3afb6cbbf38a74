//! `/` for who is signed in: favorites, what was opened last, the human's apps, and those of others
//! that are shared with it.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;

use super::{
    desk::{Desk, Frame, Section},
    first_run::Steps,
    notice::Notice,
    records::{App, List},
};
use crate::error::ApiResult;

/// Apps that the lists show; an account has no more of its own unless its limit was raised.
const APPS_MAX: usize = 200;
/// Apps that were opened last.
const RECENT_MAX: usize = 6;

#[derive(Template)]
#[template(path = "site/home.html")]
struct HomePage {
    frame: Frame,
    favorites: Vec<App>,
    recent: Vec<App>,
    own: Vec<App>,
    shared: Vec<App>,
    /// Whether there are more than the page shows.
    more: bool,
    /// Apps that others offer to the human.
    offers: usize,
    /// How far a new account is; nobody else is shown the steps.
    steps: Option<Steps>,
    site_url: String,
}

/// Something that is only counted.
#[derive(Deserialize)]
pub(super) struct Any {}

/// The page.
pub(super) async fn view(
    desk: &Desk,
    status: StatusCode,
    notice: Option<Notice>,
) -> ApiResult<Response> {
    let api = &desk.api;
    let all = format!("/v1/self/apps?limit={APPS_MAX}");
    let recent = format!("/v1/self/apps/recent?limit={RECENT_MAX}");
    let (apps, recent, offers, agents) = tokio::try_join!(
        api.get::<List<App>>(&all),
        api.get::<List<App>>(&recent),
        api.get_if_allowed::<List<Any>>("/v1/self/transfers?limit=20"),
        api.get::<List<Any>>("/v1/self/agents?limit=1"),
    )?;
    let favorites = apps.items.iter().filter(|app| app.favorite).cloned().collect();
    let (own, shared): (Vec<App>, Vec<App>) = apps.items.into_iter().partition(App::is_own);
    let steps = own.is_empty().then(|| Steps { agent: !agents.items.is_empty(), app: None });
    let mut frame = desk.frame(Section::Apps);
    frame.notice = notice.or(frame.notice);
    let page = HomePage {
        frame,
        favorites,
        recent: recent.items,
        own,
        shared,
        more: apps.next_cursor.is_some(),
        offers: offers.map_or(0, |offers| offers.items.len()),
        steps,
        site_url: desk.state.public_url.clone(),
    };
    Ok(desk.page(status, &page)?)
}
