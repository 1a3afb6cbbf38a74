//! `/apps/:id/usage`: what an app uses, in all and day by day.

use askama::Template;
use axum::{extract::Path, response::Response};
use http::StatusCode;
use serde::Deserialize;

use super::{
    analytics::{Query, WINDOWS},
    place::{Place, Tab},
};
use crate::{
    error::ApiResult,
    routes::site::{
        desk::{Desk, Frame},
        usage::{Day, Flow},
    },
};

#[derive(Deserialize)]
struct Usage {
    totals: Flow,
    series: Vec<Day>,
}

#[derive(Template)]
#[template(path = "site/app/usage.html")]
struct UsagePage {
    frame: Frame,
    place: Place,
    window: u16,
    windows: &'static [u16],
    totals: Flow,
    days: Vec<Day>,
}

/// The page.
pub async fn page(desk: Desk, Path(id): Path<String>) -> Response {
    desk.answer(view(&desk, &id).await)
}

async fn view(desk: &Desk, id: &str) -> ApiResult<Response> {
    let (frame, place) = Place::of_anybody(desk, id, Tab::Usage).await?;
    let window = desk.query::<Query>()?.days();
    let Usage { totals, series } =
        desk.api.get(&format!("/v1/apps/{id}/usage?days={window}")).await?;
    let page = UsagePage { frame, place, window, windows: WINDOWS, totals, days: series };
    Ok(desk.page(StatusCode::OK, &page)?)
}
