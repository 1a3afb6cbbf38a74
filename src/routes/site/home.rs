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
    paging::{CursorTrail, Pager},
    records::{App, List},
};
use crate::{error::ApiResult, routes::register};

/// Apps of a list on a page; an account has no more of its own unless its limit was raised.
const APPS_MAX: usize = 100;
/// Apps that were opened last.
const RECENT_MAX: usize = 6;

#[derive(Template)]
#[template(path = "site/home.html")]
struct HomePage {
    frame: Frame,
    favorites: Vec<App>,
    more_favorites: Pager,
    recent: Vec<App>,
    /// The human's, but for the favorites.
    own: Vec<App>,
    more_own: Pager,
    /// Those of others, but for the favorites.
    shared: Vec<App>,
    more_shared: Pager,
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

/// The human's newest own app: one that it owns, or acts for as an admin.
pub(super) async fn newest_own(context: &PageContext) -> ApiResult<Option<App>> {
    let own: List<App> = context.api.get("/v1/self/apps?shared=false&limit=1").await?;
    Ok(own.items.into_iter().next())
}

/// The page.
pub(super) async fn view(
    context: &PageContext,
    status: StatusCode,
    notice: Option<Notice>,
) -> ApiResult<Response> {
    let api = &context.api;
    // Each list is asked for and turned by itself: a favorite, and an own app, stand on the first page
    // however many newer ones are shared.
    let trails = ["favorites", "own", "shared"].map(|list| CursorTrail::of(context, list));
    let [favorites, own, shared] = [
        (&trails[0], "favorite=true"),
        (&trails[1], "favorite=false&shared=false"),
        (&trails[2], "favorite=false&shared=true"),
    ]
    .map(|(trail, part)| format!("{}&{part}", trail.path("/v1/self/apps", APPS_MAX)));
    let recent = format!("/v1/self/apps/recent?limit={RECENT_MAX}");
    let (favorites, own, shared, recent, newest_own, offers, agents) = tokio::try_join!(
        api.get::<List<App>>(&favorites),
        api.get::<List<App>>(&own),
        api.get::<List<App>>(&shared),
        api.get::<List<App>>(&recent),
        newest_own(context),
        api.get_if_allowed::<List<Any>>("/v1/self/transfers?limit=20"),
        api.get::<List<Any>>("/v1/self/agents?limit=1"),
    )?;
    let steps =
        newest_own.is_none().then_some(Steps { agent: !agents.items.is_empty(), app: None });
    let asks = match steps {
        Some(_) => api.get::<Profile>("/v1/self/profile").await?.signup_source.is_none(),
        None => false,
    };
    let page = HomePage {
        frame: context.frame(Section::Apps).with(notice),
        more_favorites: trails[0].pager("favorites", "/", favorites.next_cursor),
        favorites: favorites.items,
        recent: recent.items,
        more_own: trails[1].pager("my apps", "/", own.next_cursor),
        own: own.items,
        more_shared: trails[2].pager("shared apps", "/", shared.next_cursor),
        shared: shared.items,
        more_offers: offers.as_ref().is_some_and(|offers| offers.next_cursor.is_some()),
        offers: offers.map_or(0, |offers| offers.items.len()),
        steps,
        takes_agents: register::is_open(&context.state),
        asks,
        site_url: context.state.public_url.clone(),
    };
    Ok(context.page(status, &page)?)
}
