//! How long a collection's rows are kept, as the settings page shows it, and what its form does: it changes
//! what was changed in it, and is rehearsed first, so that nobody loses rows to a number typed wrong.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    app_page::{AppPage, Tab},
    data::collection_path,
};
use crate::{
    error::ApiResult,
    routes::site::{
        fields::Fields,
        frame::Frame,
        notice::Done,
        page_context::PageContext,
        words::{At, Count},
    },
};

/// The two bounds, each with the field that holds what its page showed.
const BOUNDS: [(&str, &str); 2] =
    [("max_age_days", "max_age_days_was"), ("max_rows", "max_rows_was")];
/// The field of who read what goes, and goes on.
const AGREED: &str = "agreed";

/// Bounds of a collection.
#[derive(Deserialize)]
pub(super) struct Bounds {
    max_age_days: Option<Count>,
    max_rows: Option<Count>,
}

impl Bounds {
    /// The days, as a field holds them.
    pub(super) fn age(&self) -> String {
        self.max_age_days.map(|days| days.0.to_string()).unwrap_or_default()
    }

    /// The rows, as a field holds them.
    pub(super) fn rows(&self) -> String {
        self.max_rows.map(|rows| rows.0.to_string()).unwrap_or_default()
    }
}

/// How long a collection's rows are kept.
#[derive(Deserialize)]
pub(super) struct Retention {
    pub(super) collection: String,
    pub(super) author: Bounds,
    #[serde(rename = "override")]
    pub(super) owner: Bounds,
    pub(super) prune: Prune,
}

/// What goes by the bounds.
#[derive(Deserialize)]
pub(super) struct Prune {
    pub(super) rows: Count,
    pub(super) next_run_at: Option<At>,
}

/// What a change of bounds would do, before it is made.
#[derive(Template)]
#[template(path = "site/app/bounds.html")]
struct BoundsPage {
    frame: Frame,
    app_page: AppPage,
    fields: Fields,
    /// The bounds, and what goes by them.
    tried: Retention,
}

impl BoundsPage {
    /// What the form sent, to be sent again.
    fn sent(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let names = ["action", "collection"]
            .into_iter()
            .chain(BOUNDS.into_iter().flat_map(|(is, was)| [is, was]));
        names.flat_map(|name| {
            self.fields.all(name).into_iter().take(1).map(move |value| (name, value))
        })
    }
}

/// The API's path of a collection's bounds.
pub(super) fn path(id: &str, collection: &str) -> String {
    format!("{}/retention", collection_path(id, collection))
}

/// The bounds that the form changes: those that it holds otherwise than its page did. What somebody else set
/// meanwhile stays.
fn changes(fields: &Fields) -> Value {
    let changed = BOUNDS.into_iter().filter(|(bound, was)| {
        fields.all(was).first().is_none_or(|shown| shown.trim() != fields.one(bound))
    });
    let values =
        changed.map(|(bound, _)| (bound.to_owned(), fields.number(bound).unwrap_or_default()));
    Value::Object(values.collect::<Map<_, _>>())
}

/// Changes the bounds; where more rows would go than go anyway, once its human has seen how many.
pub(super) async fn change(
    context: &PageContext,
    id: &str,
    fields: &Fields,
) -> ApiResult<Response> {
    let path = path(id, fields.one("collection"));
    let changes = changes(fields);
    if fields.some(AGREED).is_none() {
        let rehearsal = format!("{path}?dry_run=true");
        let (now, tried) = tokio::try_join!(
            context.api.get::<Retention>(&path),
            context.api.send::<Retention>(Method::PATCH, &rehearsal, &changes),
        )?;
        if tried.prune.rows.0 > now.prune.rows.0 {
            let (frame, app_page) = AppPage::of_owner(context, id, Tab::Settings).await?;
            let page = BoundsPage { frame, app_page, fields: fields.clone(), tried };
            return Ok(context.page(StatusCode::OK, &page)?);
        }
    }
    context.api.send::<Value>(Method::PATCH, &path, &changes).await?;
    Ok(context.go(&format!("/apps/{id}/settings"), Done::RetentionSet)?)
}
