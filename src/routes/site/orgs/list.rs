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
        form_token::FormToken,
        frame::{Frame, Section},
        notice::{Done, Notice, or_again},
        page_context::PageContext,
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
pub async fn page(context: PageContext) -> Response {
    context.answer(view(&context, StatusCode::OK, None, String::new()).await)
}

/// Makes an organization, once for this form, and goes there.
pub async fn create(Posted(context, form): Posted<Form>) -> Response {
    let body = json!({"name": form.name});
    let made = context.api.make::<Org>("/v1/orgs", &body, &form.form).await;
    let answered = made.and_then(|org| {
        let page = format!("/orgs/{}", org.made().id);
        Ok(context.go(&page, Done::OrgCreated)?)
    });
    let again = |status, error| {
        let notice = Notice::of_form(&error, "create", "", &["name"]);
        view(&context, status, Some(notice), form.name)
    };
    context.answer(or_again(answered, again).await)
}

async fn view(
    context: &PageContext,
    status: StatusCode,
    notice: Option<Notice>,
    name: String,
) -> ApiResult<Response> {
    let trail = CursorTrail::of(context, ONLY);
    let orgs: List<Org> = context.api.get(&trail.path("/v1/orgs", ITEMS_MAX)).await?;
    let page = OrgsPage {
        frame: context.frame(Section::Orgs).with(notice),
        pager: trail.pager("organizations", "/orgs", orgs.next_cursor),
        orgs: orgs.items,
        name,
    };
    Ok(context.page(status, &page)?)
}
