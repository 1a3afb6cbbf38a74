//! `/apps/:id/data/:collection/rows/:key`: one row. Seen with its history, edited with a check of
//! its version, deleted, restored, purged.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use rookery_actors::feed;
use rookery_domain::{Error, ErrorCode, json::Object, principal::Caller};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    back_to_list::BackToList,
    collection_page, create,
    history::{Event, history},
    merge::Merge,
    record::{Names, Row},
    refusal, row_page, row_path,
    text::typed,
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
    },
};

/// What a form of the page asks for.
#[derive(Deserialize)]
#[serde(tag = "action", rename_all = "kebab-case")]
pub enum Action {
    /// Writes the content: as the human wants it, and as it was when the human began.
    Save {
        /// The version that the human began with.
        version: String,
        /// The content as the human wants it.
        data: String,
        /// The content that the human began with.
        base: String,
    },
    /// Moves it to the trash.
    Delete {
        /// The version that the human saw.
        version: String,
    },
    /// Brings it back.
    Restore,
    /// Destroys its content.
    Purge {
        /// The version that the human saw: what has been written since is not destroyed unseen.
        #[serde(default)]
        version: String,
    },
}

/// The body of an update.
#[derive(Serialize)]
struct Update<'a> {
    data: &'a RawValue,
    if_match: u64,
    replace: bool,
}

/// What stands in the editor.
struct Draft {
    /// The content as the human wants it.
    data: String,
    /// The content that it began with.
    base: String,
    /// The version of that.
    version: String,
    /// Where somebody else was faster.
    merge: Option<Merge>,
}

#[derive(Template)]
#[template(path = "site/app/row.html")]
struct RowPage {
    frame: Frame,
    app_page: AppPage,
    collection: String,
    list: String,
    page: String,
    row: Row,
    creator: String,
    editor: String,
    draft: Draft,
    history: Vec<Event>,
    history_max: u32,
    /// Why the human cannot change it; an edit that was refused stays in the editor.
    fixed: Option<String>,
    /// Whether the human may delete it.
    deletes: bool,
}

/// The page of a row that has gone while somebody edited it: what was written is still there.
#[derive(Template)]
#[template(path = "site/app/row_gone.html")]
struct RowGonePage {
    frame: Frame,
    app_page: AppPage,
    collection: String,
    list: String,
    /// Where the form goes.
    create: String,
    key: String,
    data: String,
}

/// Which row.
type Which = Path<(String, String, String)>;

/// The page.
pub async fn page(context: PageContext, Path((id, collection, key)): Which) -> Response {
    let at = RowAt { id: &id, collection: &collection, key: &key };
    context.answer(view(&context, at, StatusCode::OK, None, None).await)
}

/// Does what a form of the page asks for.
pub async fn act(
    Path((id, collection, key)): Which,
    Posted(context, action): PostedRow<Action>,
) -> Response {
    let at = RowAt { id: &id, collection: &collection, key: &key };
    context.answer(perform(&context, at, action).await)
}

/// Which row of which collection of which app.
#[derive(Clone, Copy)]
struct RowAt<'a> {
    id: &'a str,
    collection: &'a str,
    key: &'a str,
}

async fn perform(context: &PageContext, at: RowAt<'_>, action: Action) -> ApiResult<Response> {
    let RowAt { id, collection, key } = at;
    app_page::require_owner(context, id).await?;
    let way = BackToList::back(context, id, collection);
    let (list, page) = (way.list(), way.to(&row_page(id, collection, key)));
    let path = row_path(id, collection, key);
    let (answered, to, done) = match action {
        Action::Save { version, data, base } => {
            return save(context, at, version, data, base).await;
        }
        Action::Delete { version } => {
            let deletion = format!("{path}?if_match={}", number(&version)?);
            let mut deleted = context.api.act(Method::DELETE, &deletion).await;
            if is_missing(&deleted) && is_in_trash(context, &path).await? {
                deleted = Ok(());
            }
            (deleted, list, Done::RowDeleted)
        }
        Action::Restore => (
            context.api.act(Method::POST, &format!("{path}/restore")).await,
            page,
            Done::RowRestored,
        ),
        Action::Purge { version } => {
            let mut purge = format!("{path}/purge");
            if !version.is_empty() {
                purge = format!("{purge}?if_match={}", number(&version)?);
            }
            let purged = context.api.act(Method::DELETE, &purge).await;
            // Whoever may destroy a row is told that it is not there only where nothing is left of it.
            let purged = if is_missing(&purged) { Ok(()) } else { purged };
            (purged, list, Done::RowPurged)
        }
    };
    match answered {
        // A row that is not there has no page.
        Err(failed) if failed.error.code == ErrorCode::RowNotFound => Err(failed),
        answered => {
            let answered = answered.and_then(|()| Ok(context.go(&to, done)?));
            let again =
                |status, error| view(context, at, status, Some(refusal(&error, "act", &[])), None);
            or_again(answered, again).await
        }
    }
}

/// Whether the row that something was to be done to is not there.
fn is_missing(done: &ApiResult<()>) -> bool {
    done.as_ref().is_err_and(|failed| failed.error.code == ErrorCode::RowNotFound)
}

/// Whether the row at this path is one that was deleted.
async fn is_in_trash(context: &PageContext, path: &str) -> ApiResult<bool> {
    let row = context.api.get_if_allowed::<Row>(&format!("{path}?include_deleted=true")).await?;
    Ok(row.is_some_and(|row| row.deleted_at.is_some()))
}

fn number(version: &str) -> Result<u64, Error> {
    version.parse().map_err(|_| Error::invalid("`version`: must be a number"))
}

async fn save(
    context: &PageContext,
    at: RowAt<'_>,
    version: String,
    data: String,
    base: String,
) -> ApiResult<Response> {
    let path = row_path(at.id, at.collection, at.key);
    let if_match = number(&version)?;
    let answered = match typed(&data) {
        Ok(raw) => {
            let update = Update { data: &raw, if_match, replace: true };
            context.api.send::<Row>(Method::PATCH, &path, &update).await
        }
        Err(why) => Err(why.into()),
    };
    let page =
        BackToList::back(context, at.id, at.collection).to(&row_page(at.id, at.collection, at.key));
    let answered = answered.and_then(|_| Ok(context.go(&page, Done::Saved)?));
    let again = async |status, error: Error| match current(&error) {
        // What was to be written stands there: the same form was sent before.
        Some(current) if wrote(&data, &current) => Ok(context.go(&page, Done::Saved)?),
        // Somebody was faster: both are shown, and the next try is against what is there now.
        Some(current) => {
            let merge = Merge::of(&base, &data, current.data.get());
            let draft = Draft {
                data: merge.proposal.clone(),
                base: current.data.get().to_owned(),
                version: current.version.to_string(),
                merge: Some(merge),
            };
            view(context, at, status, None, Some(draft)).await
        }
        None if error.code == ErrorCode::RowNotFound => gone(context, at, data).await,
        // Nor has the row a page then.
        None if error.code == ErrorCode::CollectionNotFound => {
            let form = FormToken::default();
            let form = create::Form { key: at.key.to_owned(), data, form };
            let notice = refusal(&error, "create", &[]);
            let refused = create::Refused { status, notice, taken: None };
            create::view(context, at.id, at.collection, form, Some(refused)).await
        }
        None => {
            let draft = Draft { data, base, version, merge: None };
            view(context, at, status, Some(refusal(&error, "save", &["data"])), Some(draft)).await
        }
    };
    or_again(answered, again).await
}

/// The row as it is, which a refused write was too late for.
fn current(error: &Error) -> Option<Row> {
    if error.code != ErrorCode::Conflict {
        return None;
    }
    serde_json::from_str(error.current.as_deref()?).ok()
}

/// Whether the row is what `data` was to make of it.
fn wrote(data: &str, row: &Row) -> bool {
    let [wanted, there] = [data, row.data.get()].map(Object::parse);
    matches!((wanted, there), (Ok(wanted), Ok(there)) if wanted.text() == there.text())
}

async fn gone(context: &PageContext, at: RowAt<'_>, data: String) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_owner(context, at.id, Tab::Data).await?;
    let text = "The row was deleted while you edited it. What you wrote is below.".to_owned();
    let notice = Notice::of_refusal(text, None);
    let way = BackToList::back(context, at.id, at.collection);
    let page = RowGonePage {
        frame: frame.with(Some(notice)),
        app_page,
        collection: at.collection.to_owned(),
        list: way.list(),
        create: way.to(&format!("{}/new", collection_page(at.id, at.collection))),
        key: at.key.to_owned(),
        data,
    };
    Ok(context.page(StatusCode::NOT_FOUND, &page)?)
}

async fn view(
    context: &PageContext,
    at: RowAt<'_>,
    status: StatusCode,
    notice: Option<Notice>,
    draft: Option<Draft>,
) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_owner(context, at.id, Tab::Data).await?;
    let frame = frame.with(notice);
    let path = row_path(at.id, at.collection, at.key);
    let row: Row = context.api.get(&format!("{path}?include_deleted=true")).await?;
    let names = Names::load(context).await?;
    let app = context.state.rooms.apps().find(at.id).await?;
    let caller = Caller::human(context.human);
    let refusals = app.refusals(&caller, at.collection, at.key).await?;
    let control = context.state.rooms.control();
    let events = control.row_history(&app, &caller, at.collection, at.key).await?;
    let history = history(&events, &names);
    let way = BackToList::back(context, at.id, at.collection);
    let closed = app_page.is_closed();
    let fixed = refusals.update.map(|error| Notice::refused(&error).text);
    let fixed = if closed { Some("The app is closed.".to_owned()) } else { fixed };
    let fixed = fixed.filter(|_| draft.is_none());
    let draft = draft.unwrap_or_else(|| Draft {
        base: row.data.get().to_owned(),
        data: row.text(),
        version: row.version.to_string(),
        merge: None,
    });
    let page = RowPage {
        frame,
        app_page,
        collection: at.collection.to_owned(),
        list: way.list(),
        page: way.to(&row_page(at.id, at.collection, at.key)),
        creator: names.of(&row.creator),
        editor: names.of(&row.editor),
        row,
        draft,
        history,
        fixed,
        deletes: refusals.delete.is_none() && !closed,
        history_max: feed::HISTORY_EVENTS_MAX,
    };
    Ok(context.page(status, &page)?)
}
