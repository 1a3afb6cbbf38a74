//! `/orgs`: the organizations that the human is in, and the form that makes one.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::json;

use super::Org;
use crate::{
    error::ApiResult,
    routes::site::{
        desk::Desk,
        frame::{Frame, Section},
        notice::{Notice, or_again},
        paging::{ITEMS_MAX, ONLY, Pager, Trail},
        posted::Posted,
        records::List,
    },
};

#[derive(Template)]
#[template(path = "site/orgs/list.html")]
struct OrgsPage {
    frame: Frame,
    orgs: Vec<Org>,
    pager: Pager,
    /// A name that was refused, to be set right.
    name: String,
}

/// What the form sends.
#[derive(Deserialize)]
pub struct Form {
    name: String,
}

/// The page.
pub async fn page(desk: Desk) -> Response {
    desk.answer(view(&desk, StatusCode::OK, None, String::new()).await)
}

/// Makes an organization, and goes there.
pub async fn create(Posted(desk, form): Posted<Form>) -> Response {
    let made = desk.api.send::<Org>(Method::POST, "/v1/orgs", &json!({"name": form.name})).await;
    let answered = made.and_then(|org| Ok(desk.go(&format!("/orgs/{}", org.id), "org-created")?));
    let again = |status, error| {
        let notice = Notice::of_form(&error, "create", "", &["name"]);
        view(&desk, status, Some(notice), form.name)
    };
    desk.answer(or_again(answered, again).await)
}

async fn view(
    desk: &Desk,
    status: StatusCode,
    notice: Option<Notice>,
    name: String,
) -> ApiResult<Response> {
    let trail = Trail::of(desk, ONLY);
    let orgs: List<Org> = desk.api.get(&trail.path("/v1/orgs", ITEMS_MAX)).await?;
    let page = OrgsPage {
        frame: desk.frame(Section::Orgs).with(notice),
        pager: trail.pager("organizations", "/orgs", orgs.next_cursor),
        orgs: orgs.items,
        name,
    };
    Ok(desk.page(status, &page)?)
}
