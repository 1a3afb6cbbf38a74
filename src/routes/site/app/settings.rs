//! `/apps/:id/settings`: who reaches an app, what its page reaches, when its days begin, whose
//! organization it is in, how long its rows are kept, silent writes. Its own names have a page of
//! their own (`domains`).

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use rookery_domain::{Error, id::OrgId, manifest::Visibility, orgs::OrgRole};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    app_page::{AppPage, Tab},
    bounds::{self, Retention},
};
use crate::{
    error::ApiResult,
    http::params::Path,
    routes::site::{
        fields::Fields,
        frame::Frame,
        home::Any,
        notice::{Done, Notice, or_again},
        page_context::PageContext,
        posted::Posted,
        records::audience,
    },
};

/// What a form of the page sets.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Action {
    Visibility,
    Timezone,
    Organization,
    Unrestricted,
    Migration,
    Retention,
}

/// Pages of organizations that are looked through for those that the human administers.
const ORG_PAGES_MAX: usize = 10;

/// An organization of the human.
#[derive(Deserialize)]
struct Org {
    id: OrgId,
    name: String,
    role: OrgRole,
}

/// An organization that the app may be in.
struct Choice {
    id: OrgId,
    name: String,
    /// Whether the app is in it.
    is_here: bool,
}

impl SettingsPage {
    /// The organizations that the app may be in: those that the human administers, and the one that it
    /// is in.
    fn choices(&self) -> Vec<Choice> {
        let here = self.app_page.org.as_ref();
        let others = self.orgs.iter().filter(|org| here.is_none_or(|here| here.id != org.id));
        let others =
            others.map(|org| Choice { id: org.id, name: org.name.clone(), is_here: false });
        let here = here.map(|org| Choice { id: org.id, name: org.label(), is_here: true });
        here.into_iter().chain(others).collect()
    }

    /// A visibility in a few words.
    fn title(&self, visibility: &Visibility) -> &'static str {
        audience(*visibility)
    }

    /// Whom a visibility lets in, in words.
    fn who(&self, visibility: &Visibility) -> &'static str {
        match visibility {
            Visibility::Private => "You, your agents, and those you invite",
            Visibility::Link => "Whoever has the share link",
            Visibility::Public => "Everybody",
        }
    }
}

#[derive(Template)]
#[template(path = "site/app/settings.html")]
struct SettingsPage {
    frame: Frame,
    app_page: AppPage,
    orgs: Vec<Org>,
    retention: Vec<Retention>,
    visibilities: &'static [Visibility],
    /// What a form that was refused held.
    typed: Fields,
}

/// The page.
pub async fn page(context: PageContext, Path(id): Path<String>) -> Response {
    context.answer(view(&context, &id, StatusCode::OK, None, Fields::default()).await)
}

/// Does what a form of the page asks for.
pub async fn act(Path(id): Path<String>, Posted(context, fields): Posted<Fields>) -> Response {
    let answered = perform(&context, &id, &fields).await;
    let again = |status, error| view(&context, &id, status, Some(refusal(&error, &fields)), fields);
    context.answer(or_again(answered, again).await)
}

/// Where a form leads that did what it asks for: whoever took an app of a colleague out of the organization
/// has no page of it any more.
async fn go_on(context: &PageContext, id: &str) -> ApiResult<Response> {
    let app = context.api.get_if_allowed::<Any>(&format!("/v1/apps/{id}")).await?;
    let to = app.map_or_else(|| "/".to_owned(), |_| format!("/apps/{id}/settings"));
    Ok(context.go(&to, Done::Saved)?)
}

/// Why a form of the page was refused. A bound of rows is asked for once for each collection.
fn refusal(error: &Error, fields: &Fields) -> Notice {
    let Ok(action) = fields.action() else { return Notice::refused(error) };
    let form = fields.one("action");
    let (form, place, asked): (_, _, &[_]) = match action {
        Action::Visibility | Action::Unrestricted => (form, "", &[]),
        Action::Timezone => (form, "", &["timezone"]),
        Action::Organization => (form, "", &["org_id"]),
        Action::Migration => (form, "", &["minutes"]),
        Action::Retention => (fields.one("collection"), "kept", &["max_age_days", "max_rows"]),
    };
    Notice::of_form(error, form, place, asked)
}

async fn perform(context: &PageContext, id: &str, fields: &Fields) -> ApiResult<Response> {
    let app = format!("/v1/apps/{id}");
    let (method, path, body) = match fields.action()? {
        Action::Visibility => (Method::PATCH, app, json!({"visibility": fields.one("visibility")})),
        Action::Timezone => (Method::PATCH, app, json!({"timezone": fields.one("timezone")})),
        Action::Organization => (Method::PATCH, app, json!({"org_id": fields.some("org_id")})),
        Action::Unrestricted => {
            let on = json!({"on": fields.one("on") == "true"});
            (Method::POST, format!("{app}/unrestricted"), on)
        }
        Action::Migration => {
            let on = fields.one("on") == "true";
            let mut mode = Map::from_iter([("on".to_owned(), Value::Bool(on))]);
            if on {
                mode.extend(fields.number("minutes").map(|m| ("ttl_minutes".to_owned(), m)));
            }
            (Method::POST, format!("{app}/migration-mode"), Value::Object(mode))
        }
        Action::Retention => return bounds::change(context, id, fields).await,
    };
    context.api.send::<Value>(method, &path, &body).await?;
    go_on(context, id).await
}

async fn view(
    context: &PageContext,
    id: &str,
    status: StatusCode,
    notice: Option<Notice>,
    typed: Fields,
) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_owner(context, id, Tab::Settings).await?;
    let orgs: Vec<Org> = context.api.list("/v1/orgs", ORG_PAGES_MAX).await?;
    let mut retention = Vec::with_capacity(app_page.app.collections.len());
    for one in &app_page.app.collections {
        // A collection that only holds detached rows has no bounds.
        let path = bounds::path(id, &one.name);
        retention.extend(context.api.get_if_allowed::<Retention>(&path).await?);
    }
    let page = SettingsPage {
        typed,
        frame: frame.with(notice),
        app_page,
        orgs: orgs.into_iter().filter(|org| org.role == OrgRole::Admin).collect(),
        retention,
        visibilities: Visibility::ALL,
    };
    Ok(context.page(status, &page)?)
}
