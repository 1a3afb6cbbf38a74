//! A form that a signed-in human sends, read. It is done for the account that its page was made for, and
//! for no other: where somebody else is signed in by now, or nobody is, what was typed is kept on a page
//! that sends it again, in its body alone, in no address and no cookie.

use std::borrow::Cow;

use askama::Template;
use axum::{
    body::Body,
    extract::{FromRequest, FromRequestParts as _, Request},
    response::{IntoResponse as _, Response},
};
use http::{StatusCode, request::Parts};
use serde::de::DeserializeOwned;

use super::{
    FORM_BYTES_MAX, account,
    app::data,
    form_account::{self, FormAccount},
    form_text, frame,
    page_context::{PageContext, way_back},
    show, sign_in, visitor,
};
use crate::{
    error::ApiResult,
    http::{client::RequestContext, params::form_fields},
    pages::shell::Shell,
    state::{AppState, State},
};

/// Who sends a form, and what it holds; how long it may be goes by whether it carries a row.
pub struct Posted<T, const CARRIES_ROW: bool = false>(pub PageContext, pub T);

/// `@` as it is sent.
const AT: &str = "%40";

/// A form that carries a row.
pub type PostedRow<T> = Posted<T, true>;

/// Bytes of the longest form, which carries a row.
fn row_form_bytes_max(state: &State) -> usize {
    data::form_bytes_max(state.config.limits.row_bytes_max)
}

/// What was sent, to be sent again.
#[derive(Template)]
#[template(path = "session_ended.html")]
struct SessionEndedPage {
    shell: Shell,
    kept: Kept,
    /// For whom, where the form says so.
    form_account: Option<FormAccount>,
    /// Whether it was a form that ends the session itself, and may have been sent before.
    ends_session: bool,
}

/// What was sent while somebody else is signed in.
#[derive(Template)]
#[template(path = "another_account.html")]
struct AnotherAccountPage {
    shell: Shell,
    kept: Kept,
    form_account: FormAccount,
    /// Who is signed in.
    now: FormAccount,
}

/// A form that was not done.
struct Kept {
    sign_in: String,
    /// Where the form goes.
    path: String,
    /// Without the account that it was made for.
    fields: Vec<(String, String)>,
}

impl<T: DeserializeOwned, const CARRIES_ROW: bool> FromRequest<AppState>
    for Posted<T, CARRIES_ROW>
{
    type Rejection = Response;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Response> {
        let (mut parts, body) = request.into_parts();
        let mut context = match PageContext::open(&mut parts, state).await {
            Ok(Ok(context)) => context,
            Ok(Err(_)) => {
                return Err(answer(keep(parts, body, state).await));
            }
            Err(failed) => return Err(failed.into_response()),
        };
        let bytes_max = if CARRIES_ROW { row_form_bytes_max(state) } else { FORM_BYTES_MAX };
        let text = form_text(state, &parts.headers, context.address(), body, bytes_max).await;
        let text = text.map_err(|error| context.answer(Err(error.into())))?;
        let form = Form::of(&text);
        // The session may have ended while the form was waited for.
        match visitor(state, &parts.headers) {
            Ok(Some(_)) => {}
            Ok(None) => return Err(answer(session_ended(&parts, form, state))),
            Err(error) => return Err(context.answer(Err(error.into()))),
        }
        let now = context.account();
        match form.form_account {
            Some(form_account) if form_account.human != now.human => {
                let kept = Kept::of(&parts, &form.fields);
                let page = AnotherAccountPage {
                    shell: context.shell(),
                    kept,
                    form_account,
                    now: now.clone(),
                };
                Err(context.answer(show(state, StatusCode::CONFLICT, &page).map_err(Into::into)))
            }
            _ => match form_fields(&form.fields) {
                Ok(fields) => {
                    context.sent = form.fields;
                    Ok(Self(context, fields))
                }
                Err(error) => Err(context.answer(Err(error.into()))),
            },
        }
    }
}

/// The text of a form, and for whom it was made.
#[derive(Default)]
struct Form {
    fields: String,
    form_account: Option<FormAccount>,
}

impl Form {
    fn of(text: &str) -> Self {
        let is_mark = |pair: &&str| pair.split('=').next() == Some(form_account::FIELD);
        let (marks, fields): (Vec<_>, Vec<_>) = text.split('&').partition(is_mark);
        let fields: Vec<_> = fields.into_iter().map(plainly_named).collect();
        let marks = marks.join("&");
        let mark = url::form_urlencoded::parse(marks.as_bytes()).next();
        Self {
            fields: fields.join("&"),
            form_account: mark.and_then(|(_, value)| FormAccount::sent(&value)),
        }
    }
}

/// A field of a form without what its name says behind an `@`: of which state of things it is. A browser that
/// comes back to a page, which is made anew for that, puts what was typed into the field of the same name,
/// whatever has changed meanwhile.
fn plainly_named(pair: &str) -> Cow<'_, str> {
    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
    match name.split_once(AT) {
        Some((plain, _)) => format!("{plain}={value}").into(),
        None => pair.into(),
    }
}

impl Kept {
    fn of(parts: &Parts, fields: &str) -> Self {
        Self {
            sign_in: sign_in::address(&way_back(&parts.uri, &parts.headers)),
            path: parts.uri.to_string(),
            fields: form_fields(fields).unwrap_or_default(),
        }
    }
}

/// The page that keeps a form. One that cannot be read is not kept, and the page says no more than
/// that nothing was saved.
async fn keep(mut parts: Parts, body: Body, state: &AppState) -> ApiResult<Response> {
    let RequestContext { address, .. } =
        RequestContext::from_request_parts(&mut parts, state).await?;
    let bytes_max = row_form_bytes_max(state);
    let text = form_text(state, &parts.headers, address, body, bytes_max).await;
    session_ended(&parts, text.map(|text| Form::of(&text)).unwrap_or_default(), state)
}

fn session_ended(parts: &Parts, form: Form, state: &State) -> ApiResult<Response> {
    let kept = Kept::of(parts, &form.fields);
    let ends_session = parts.uri.path() == "/account"
        && form_fields(&form.fields).is_ok_and(|fields| account::ends_session(&fields));
    let page = SessionEndedPage {
        shell: frame(state, None)?,
        kept,
        form_account: form.form_account,
        ends_session,
    };
    Ok(show(state, StatusCode::UNAUTHORIZED, &page)?)
}

fn answer(answered: ApiResult<Response>) -> Response {
    answered.unwrap_or_else(|failed| failed.into_response())
}
