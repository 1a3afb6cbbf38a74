//! `/` for who is signed in: favorites, what was opened last, the human's apps, and those of others
//! that are shared with it.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;

use super::{
    first_run::Steps,
    frame::{Frame, Section},
    notice::Notice,
    page_context::PageContext,
    paging::{CursorTrail, ONLY, Pager},
    records::{App, List},
};
use crate::{error::ApiResult, routes::register};

/// Apps on a page; an account has no more of its own unless its limit was raised.
const APPS_MAX: usize = 100;
/// Apps that were opened last.
const RECENT_MAX: usize = 6;

#[derive(Template)]
#[template(path = "site/home.html")]
struct HomePage {
    frame: Frame,
    favorites: Vec<App>,
    recent: Vec<App>,
    /// The human's, but for the favorites.
    own: Vec<App>,
    /// Those of others, but for the favorites.
    shared: Vec<App>,
    pager: Pager,
    /// Apps that others offer to the human.
    offers: usize,
    /// Whether there are more of them than were asked for.
    more_offers: bool,
    /// How far a new account is; nobody else is shown the steps.
    steps: Option<Steps>,
    /// Whether agents may register themselves, as the example's does.
    takes_agents: bool,
    /// Whether to ask how the human heard of the service: once, of a new account.
    asks: bool,
    site_url: String,
}

#[derive(Deserialize)]
struct Profile {
    signup_source: Option<String>,
}

/// Something that is only counted.
#[derive(Deserialize)]
pub(super) struct Any {}

/// The page.
pub(super) async fn view(
    context: &PageContext,
    status: StatusCode,
    notice: Option<Notice>,
) -> ApiResult<Response> {
    let api = &context.api;
    let trail = CursorTrail::of(context, ONLY);
    let all = trail.path("/v1/self/apps", APPS_MAX);
    let recent = format!("/v1/self/apps/recent?limit={RECENT_MAX}");
    let (apps, recent, offers, agents) = tokio::try_join!(
        api.get::<List<App>>(&all),
        api.get::<List<App>>(&recent),
        api.get_if_allowed::<List<Any>>("/v1/self/transfers?limit=20"),
        api.get::<List<Any>>("/v1/self/agents?limit=1"),
    )?;
    let later = trail.is_later();
    let none_own = !later && !apps.items.iter().any(App::is_own);
    let steps = none_own.then_some(Steps { agent: !agents.items.is_empty(), app: None });
    let asks = match steps {
        Some(_) => api.get::<Profile>("/v1/self/profile").await?.signup_source.is_none(),
        None => false,
    };
    let (favorites, others): (Vec<App>, Vec<App>) =
        apps.items.into_iter().partition(|app| app.favorite);
    let (own, shared) = others.into_iter().partition(App::is_own);
    let page = HomePage {
        frame: context.frame(Section::Apps).with(notice),
        favorites,
        recent: if later { Vec::new() } else { recent.items },
        own,
        shared,
        pager: trail.pager("apps", "/", apps.next_cursor),
        more_offers: offers.as_ref().is_some_and(|offers| offers.next_cursor.is_some()),
        offers: offers.map_or(0, |offers| offers.items.len()),
        steps,
        takes_agents: register::is_open(&context.state),
        asks,
        site_url: context.state.public_url.clone(),
    };
    Ok(context.page(status, &page)?)
}
