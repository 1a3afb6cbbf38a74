//! `/apps/:id/data/:collection/new`: a new row.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use rookery_domain::{Error, ErrorCode, principal::Caller};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    back_to_list::BackToList, collection_page, collection_path, record::Row, refusal, row_page,
    row_path, text::typed,
};
use crate::{
    error::ApiResult,
    http::params::Path,
    routes::site::{
        app::app_page::{self, AppPage, Tab},
        form_token::FormToken,
        frame::Frame,
        notice::{Done, Notice, or_again},
        page_context::PageContext,
        posted::{Posted, PostedRow},
        words,
    },
};

/// What the form sends.
#[derive(Deserialize)]
pub struct Form {
    #[serde(default)]
    pub(super) key: String,
    pub(super) data: String,
    /// The token of the form.
    #[serde(default)]
    pub(super) form: FormToken,
}

/// The body of a create.
#[derive(Serialize)]
struct Create<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    data: &'a RawValue,
}

#[derive(Template)]
#[template(path = "site/app/new_row.html")]
struct NewRowPage {
    frame: Frame,
    app_page: AppPage,
    collection: String,
    list: String,
    /// Where the form goes.
    page: String,
    key: String,
    /// The row that has the key already.
    taken: Option<String>,
    data: String,
    /// Why the human cannot add a row; one that was refused stays in the editor.
    fixed: Option<String>,
}

/// The page.
pub async fn page(
    context: PageContext,
    Path((id, collection)): Path<(String, String)>,
) -> Response {
    let data = "{\n  \n}".to_owned();
    let form = Form { key: String::new(), data, form: FormToken::default() };
    context.answer(view(&context, &id, &collection, form, None).await)
}

/// Creates it, once for this form.
pub async fn submit(
    Path((id, collection)): Path<(String, String)>,
    Posted(context, form): PostedRow<Form>,
) -> Response {
    context.answer(create(&context, &id, &collection, form).await)
}

async fn create(
    context: &PageContext,
    id: &str,
    collection: &str,
    form: Form,
) -> ApiResult<Response> {
    app_page::require_owner(context, id).await?;
    let key = Some(form.key.as_str()).filter(|key| !key.is_empty());
    let answered = match typed(&form.data) {
        Ok(data) => {
            let body = Create { key, data: &data };
            context.api.create::<Row>(&collection_path(id, collection), &body, &form.form).await
        }
        Err(why) => Err(why.into()),
    };
    let way = BackToList::back(context, id, collection);
    let row_page = |key: &str| way.to(&row_page(id, collection, key));
    // Whoever may not read it goes back to the list. It is made, whatever else this look meets.
    let is_hidden = match &answered {
        Ok(Some(row)) => {
            let path = row_path(id, collection, &row.key);
            matches!(context.api.get_if_allowed::<Row>(&path).await, Ok(None))
        }
        _ => false,
    };
    let taken = matches!(answered, Ok(None)).then(|| row_page(&form.key));
    let answered = answered.and_then(|made| {
        let row = made.ok_or_else(|| {
            Error::new(ErrorCode::Conflict, "there is already a row with this key")
        })?;
        let to = if is_hidden { way.list() } else { row_page(&row.key) };
        Ok(context.go(&to, Done::RowCreated)?)
    });
    let again = |status, error| {
        let is_key = taken.is_some() || words::names(&error, "key");
        let notice = refusal(&error, "create", if is_key { &["key"] } else { &["data"] });
        view(context, id, collection, form, Some(Refused { status, notice, taken }))
    };
    or_again(answered, again).await
}

/// Why the form is shown again.
pub(super) struct Refused {
    pub(super) status: StatusCode,
    pub(super) notice: Notice,
    /// The row that has the key already.
    pub(super) taken: Option<String>,
}

/// The page with what was typed, and why that was refused.
pub(super) async fn view(
    context: &PageContext,
    id: &str,
    collection: &str,
    form: Form,
    refused: Option<Refused>,
) -> ApiResult<Response> {
    let (status, notice, taken) = match refused {
        Some(Refused { status, notice, taken }) => (status, Some(notice), taken),
        None => (StatusCode::OK, None, None),
    };
    let (frame, app_page) = AppPage::of_owner(context, id, Tab::Data).await?;
    // What was typed for one that went meanwhile is shown all the same.
    if notice.is_none() && !app_page.declared().iter().any(|one| one.name == collection) {
        return Err(Error::collection_not_found(collection).into());
    }
    let fixed = match notice {
        Some(_) => None,
        None => {
            let app = context.state.rooms.apps().find(id).await?;
            app.create_refusal(&Caller::human(context.human), collection).await?
        }
    };
    let frame = frame.with(notice);
    let way = BackToList::back(context, id, collection);
    let page = NewRowPage {
        fixed: fixed.map(|error| Notice::refused(&error).text),
        frame,
        app_page,
        collection: collection.to_owned(),
        list: way.list(),
        page: way.to(&format!("{}/new", collection_page(id, collection))),
        taken,
        key: form.key,
        data: form.data,
    };
    Ok(context.page(status, &page)?)
}
