//! `POST /apps/:id`: what a button does with an app as a whole.

use axum::response::Response;
use http::Method;
use rookery_domain::ErrorCode;
use serde::Deserialize;

use crate::{
    error::ApiResult,
    http::params::Path,
    routes::site::{notice::Done, page_context::PageContext, posted::Posted, see_other},
};

/// What a button says.
#[derive(Deserialize)]
pub struct Form {
    action: Action,
    /// The page to go back to.
    back: Option<String>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "kebab-case")]
enum Action {
    Favorite,
    Unfavorite,
    Open,
    Delete,
    Restore,
    Purge,
    Wake,
}

/// Does it, and goes back.
pub async fn act(Path(id): Path<String>, Posted(context, form): Posted<Form>) -> Response {
    context.answer(perform(&context, &id, form).await)
}

async fn perform(context: &PageContext, id: &str, form: Form) -> ApiResult<Response> {
    let Form { action, back: from } = form;
    let api = &context.api;
    let (own, app) = (format!("/v1/self/apps/{id}"), format!("/v1/apps/{id}"));
    let page = format!("/apps/{id}");
    let back = |otherwise: &str| context.back(from.as_deref(), otherwise);
    let (path, done) = match action {
        Action::Favorite => {
            api.act(Method::PUT, &format!("{own}/favorite")).await?;
            return Ok(see_other(&back(&page))?);
        }
        Action::Unfavorite => {
            api.act(Method::DELETE, &format!("{own}/favorite")).await?;
            return Ok(see_other(&back(&page))?);
        }
        Action::Open => return open(context, id).await,
        Action::Delete => {
            api.act(Method::DELETE, &app).await?;
            ("/trash".to_owned(), Done::AppDeleted)
        }
        Action::Restore => {
            api.act(Method::POST, &format!("{app}/restore")).await?;
            (page, Done::AppRestored)
        }
        Action::Purge => {
            match api.act(Method::POST, &format!("{app}/purge")).await {
                // Sent by the trash, where it was destroyed before.
                Err(failed) if failed.error.code == ErrorCode::AppNotFound && from.is_some() => {
                    (back("/trash"), Done::AppGone)
                }
                purged => {
                    purged?;
                    ("/trash".to_owned(), Done::AppPurged)
                }
            }
        }
        Action::Wake => {
            api.act(Method::POST, &format!("{app}/wake")).await?;
            (page, Done::AppWoken)
        }
    };
    Ok(context.go(&path, done)?)
}

/// Notes that the human opened the app, and leads there signed in, also where that cannot be noted.
async fn open(context: &PageContext, id: &str) -> ApiResult<Response> {
    match context.api.act(Method::POST, &format!("/v1/self/apps/{id}/view")).await {
        Err(failed) if failed.error.code == ErrorCode::Unavailable => {
            tracing::warn!(app = id, "that an app was opened is not noted");
        }
        noted => noted?,
    }
    // The app's own address signs nobody in; `/authorize` carries the human over.
    let app = context.state.rooms.apps().find(id).await?;
    Ok(see_other(&format!("/authorize?app={}&return_to=%2F", app.record().slug))?)
}
