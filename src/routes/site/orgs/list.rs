//! `/orgs`: the organizations that the human is in, and the form that makes one.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use serde::Deserialize;
use serde_json::json;

use super::Org;
use crate::{
    error::ApiResult,
    routes::site::{
        desk::Desk,
        form_token::FormToken,
        frame::{Frame, Section},
        notice::{Notice, or_again},
        paging::{CursorTrail, ITEMS_MAX, ONLY, Pager},
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
    /// The token of the form.
    #[serde(default)]
    form: FormToken,
}

/// The page.
pub async fn page(desk: Desk) -> Response {
    desk.answer(view(&desk, StatusCode::OK, None, String::new()).await)
}

/// Makes an organization, once for this form, and goes there.
pub async fn create(Posted(desk, form): Posted<Form>) -> Response {
    let body = json!({"name": form.name});
    let made = desk.api.make::<Org>("/v1/orgs", &body, &form.form).await;
    let answered = made.and_then(|org| {
        let page = format!("/orgs/{}", org.made().id);
        Ok(desk.go(&page, "org-created")?)
    });
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
    let trail = CursorTrail::of(desk, ONLY);
    let orgs: List<Org> = desk.api.get(&trail.path("/v1/orgs", ITEMS_MAX)).await?;
    let page = OrgsPage {
        frame: desk.frame(Section::Orgs).with(notice),
        pager: trail.pager("organizations", "/orgs", orgs.next_cursor),
        orgs: orgs.items,
        name,
    };
    Ok(desk.page(status, &page)?)
}
