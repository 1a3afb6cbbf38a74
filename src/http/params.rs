//! Parameters in the path and in the query: typed ids that answer as unknown when malformed, and
//! queries in which a misspelt name is refused instead of ignored; and how the document tells of a
//! header. `include_deleted` belongs to every route that reads an app, so the permission takes it.

use std::{borrow::Cow, convert::Infallible, str::FromStr};

use axum::extract::{self, FromRequestParts, MatchedPath, RawPathParams};
use http::request::Parts;
use percent_encoding::percent_decode_str;
use rookery_domain::{
    Error, Result, error,
    id::{AgentId, CredentialId, GrantId, HumanId, PreviewId, SessionId, TransferId},
};
use serde::de::DeserializeOwned;
use utoipa::openapi::{
    ObjectBuilder, Required, Type,
    path::{Parameter, ParameterBuilder, ParameterIn},
};
use uuid::Uuid;

use crate::{error::ApiError, state::AppState};

/// The parameter with which the owner of an app reads it in the trash.
pub const INCLUDE_DELETED: &str = "include_deleted";

/// The query of a request. `T` carries `#[serde(deny_unknown_fields)]`.
#[derive(Debug, Clone, Copy)]
pub struct StrictQuery<T>(pub T);

/// The query of a page, and of what a link leads to. An address is typed, mailed and kept by people, and
/// programs on its way put marks on it: a parameter that is not known there is left alone.
#[derive(Debug, Clone, Copy)]
pub struct PageQuery<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for PageQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        Ok(Self(query(parts.uri.query().unwrap_or_default())?))
    }
}

/// A header that a request may have, as the document describes it.
pub fn optional_header(name: &str, what: &str) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some(what))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}

/// Marks a request of which the permission has taken `include_deleted`.
#[derive(Debug, Clone, Copy)]
struct TookIncludeDeleted;

/// Whether a request asks to see what is deleted.
///
/// # Errors
/// `invalid_request` for a value that is no boolean, and for more than one.
pub fn take_include_deleted(parts: &mut Parts) -> Result<bool> {
    let pairs = url::form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
    let mut given = pairs.filter(|(name, _)| name == INCLUDE_DELETED).map(|(_, value)| value);
    let asked = match (given.next(), given.next()) {
        (None, _) => return Ok(false),
        (Some(value), None) => value.parse().ok(),
        _ => None,
    };
    let asked = asked.ok_or_else(|| {
        Error::invalid(format!("query: {INCLUDE_DELETED} must be true or false, once"))
    })?;
    parts.extensions.insert(TookIncludeDeleted);
    Ok(asked)
}

impl<T: DeserializeOwned> FromRequestParts<AppState> for StrictQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> Result<Self, ApiError> {
        let text = parts.uri.query().unwrap_or_default();
        check_text(text)?;
        match query(text) {
            // A route that does nothing else with it need not know it.
            Err(_) if parts.extensions.get::<TookIncludeDeleted>().is_some() => {
                let pairs = url::form_urlencoded::parse(text.as_bytes());
                let others = pairs.filter(|(name, _)| name != INCLUDE_DELETED);
                let mut rest = url::form_urlencoded::Serializer::new(String::new());
                Ok(Self(query(&rest.extend_pairs(others).finish())?))
            }
            parsed => Ok(Self(parsed?)),
        }
    }
}

/// A query as it stands behind a path: with its mark, and empty where there is none.
#[must_use]
pub fn behind_path(query: Option<&str>) -> String {
    query.map(|query| format!("?{query}")).unwrap_or_default()
}

/// Reads a query string.
///
/// # Errors
/// `invalid_request`, naming the parameter.
pub fn query<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    pairs(text, "query", |name| format!("query parameter {name}"))
}

/// Reads the fields of a form.
///
/// # Errors
/// `invalid_request`, naming the field.
pub fn form_fields<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    pairs(text, "the form", |name| format!("`{name}`"))
}

/// Reads pairs of which `all` is what they are together, and `one` tells what one of them is.
fn pairs<T: DeserializeOwned>(text: &str, all: &str, one: fn(&str) -> String) -> Result<T, Error> {
    let pairs = url::form_urlencoded::parse(text.as_bytes());
    // PostgreSQL compares no text with it, and nothing that is asked for holds it.
    if text.contains("%00")
        && let Some((name, _)) = pairs.clone().find(|(_, value)| value.contains('\0'))
    {
        return Err(Error::invalid(format!("{}: must not hold NUL", one(&name))));
    }
    let input = serde_urlencoded::Deserializer::new(pairs);
    serde_path_to_error::deserialize(input).map_err(|error| {
        let path = error.path().to_string();
        let cause = error.into_inner().to_string();
        let cause = in_words(&cause);
        match path.as_str() {
            "." | "?" => Error::invalid(format!("{all}: {cause}")),
            path => Error::invalid(format!("{}: {cause}", one(path))),
        }
    })
}

/// What the readers of numbers and booleans say, in the words of everything else.
fn in_words(cause: &str) -> &str {
    match cause {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            "must be a whole number"
        }
        "number too large to fit in target type" | "number too small to fit in target type" => {
            "is a number out of bounds"
        }
        "provided string was not `true` or `false`" => "must be true or false",
        cause => cause,
    }
}

/// Checks that the values of a query string are text: reading them replaces what is not.
///
/// # Errors
/// `invalid_request`, naming the parameter.
pub fn check_text(query: &str) -> Result<()> {
    if !query.contains('%') {
        return Ok(());
    }
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    match pairs.find(|(_, value)| percent_decode_str(value).decode_utf8().is_err()) {
        Some((name, _)) => {
            let name = percent_decode_str(name).decode_utf8_lossy();
            Err(Error::invalid(format!("query parameter {name}: must be UTF-8")))
        }
        None => Ok(()),
    }
}

/// Checks how many items a page may have: 1 to `max`, or nothing said.
///
/// # Errors
/// `invalid_request`.
pub fn check_limit(limit: Option<usize>, max: usize) -> Result<(), Error> {
    match limit {
        Some(limit) if !(1..=max).contains(&limit) => {
            Err(Error::parameter(error::Parameter::Limit, format_args!("must be 1 to {max}")))
        }
        _ => Ok(()),
    }
}

/// The parameters of a page's path, decoded. A path that is no UTF-8 leads nowhere.
#[derive(Debug, Clone, Copy)]
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<AppState> for Path<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, ApiError> {
        let read = extract::Path::from_request_parts(parts, state).await;
        read.map(|extract::Path(params)| Self(params)).map_err(|_| ApiError::unknown_path())
    }
}

/// The last parameter of the path, as an id of some kind; another kind of id, or no id at all, is
/// an id that nothing has, so it answers like an unknown one.
#[derive(Debug, Clone, Copy)]
pub struct PathId<T>(pub T);

/// What a path may name something by.
pub trait Named: FromStr {
    /// The name that nothing has.
    const NOTHING: Self;
}

macro_rules! named {
    ($($id:ident)*) => {$(
        impl Named for $id {
            const NOTHING: Self = Self::from_uuid(Uuid::nil());
        }
    )*};
}

named!(AgentId CredentialId GrantId HumanId PreviewId SessionId TransferId);

impl Named for String {
    const NOTHING: Self = Self::new();
}

impl<T: Named> FromRequestParts<AppState> for PathId<T> {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Infallible> {
        let params = RawPathParams::from_request_parts(parts, state).await.ok();
        let id = params.and_then(|params| params.iter().last()?.1.parse().ok());
        Ok(Self(id.unwrap_or(T::NOTHING)))
    }
}

/// What stands for a segment of the path that is no text: nothing has this name.
const NO_TEXT: &str = "\0";

/// The parameters of the path with these names, decoded. A segment that is no UTF-8 names nothing,
/// so whoever looks it up answers as for an unknown name.
pub async fn path<const N: usize>(
    parts: &mut Parts,
    state: &AppState,
    names: [&str; N],
) -> [Option<String>; N] {
    if let Ok(params) = RawPathParams::from_request_parts(parts, state).await {
        let value = |name| params.iter().find(|(param, _)| *param == name).map(|(_, value)| value);
        return names.map(|name| value(name).map(str::to_owned));
    }
    let template = parts.extensions.get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let value = |name| {
        let segments = template.split('/').zip(parts.uri.path().split('/'));
        let mut named = segments.filter(|(segment, _)| name_in(segment) == Some(name));
        named.next().map(|(_, text)| decoded(text))
    };
    names.map(value)
}

/// The name of a parameter, when the segment of a template is one.
pub fn name_in(segment: &str) -> Option<&str> {
    segment.strip_prefix('{')?.strip_suffix('}')
}

fn decoded(text: &str) -> String {
    let text = percent_decode_str(text).decode_utf8();
    text.map_or_else(|_| NO_TEXT.to_owned(), Cow::into_owned)
}
