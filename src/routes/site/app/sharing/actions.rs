//! What the forms of the page of sharing do: each is one request of the API.

use axum::response::Response;
use http::{Method, StatusCode};
use rookery_domain::{Error, time::DAY_S};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    page::{Said, view},
    records::Once,
};
use crate::{
    error::ApiResult,
    http::params::Path,
    routes::site::{
        api::Made,
        fields::{Fields, unknown_action},
        form_token::FormToken,
        notice::{Notice, or_again},
        page_context::PageContext,
        posted::Posted,
        words,
    },
};

/// What was made, with its secret unless it was made before.
#[derive(Deserialize)]
struct Record {
    url: Option<String>,
    token: Option<String>,
}

/// How an action ended: with a code for the page's address, or with something to be shown once, which
/// may have been before.
enum Ended {
    Done(&'static str),
    Shown(Made<Once>),
}

/// Does what a form of the page asks for.
pub async fn act(Path(id): Path<String>, Posted(context, fields): Posted<Fields>) -> Response {
    let answered = match perform(&context, &id, &fields).await {
        Ok(Ended::Done(done)) => context.again(done).map_err(Into::into),
        Ok(Ended::Shown(made)) => {
            let (once, notice) = match made {
                Made::Now(once) => (Some(once), None),
                Made::Before(_) => (None, Some(Notice::made_before())),
            };
            let secret = once.as_ref().and_then(|once| once.secret.clone());
            let said = Said { once, notice, ..Said::default() };
            let page = view(&context, &id, StatusCode::OK, said).await;
            return context.answer(context.showing(page, secret));
        }
        Err(failed) => Err(failed),
    };
    let again = |status, error| {
        let said = Said { notice: Some(refusal(&error, &fields)), typed: fields, once: None };
        view(&context, &id, status, said)
    };
    context.answer(or_again(answered, again).await)
}

/// Why a form of the page was refused.
fn refusal(error: &Error, fields: &Fields) -> Notice {
    let action = fields.one("action");
    let (place, asked): (_, &[_]) = match action {
        "add-member" if words::names(error, "custom_role") => ("members", &["custom_role"]),
        "add-member" => ("members", &["email"]),
        "set-role" | "remove-member" => ("members", &[]),
        "grant" => ("grants", &["role", "max_uses", "days"]),
        "revoke-grant" => ("grants", &[]),
        // That part is there for a private app only.
        "preview" => ("", &["days"]),
        "revoke-preview" => ("", &[]),
        "credential" => ("credentials", &["name", "collection", "operation"]),
        "rotate-credential" | "pause-credential" | "resume-credential" | "revoke-credential" => {
            ("credentials", &[])
        }
        "offer" => ("offer", &["email"]),
        "withdraw" => ("offer", &[]),
        _ => ("", &[]),
    };
    Notice::of_form(error, action, place, asked)
}

async fn perform(context: &PageContext, id: &str, fields: &Fields) -> ApiResult<Ended> {
    match fields.one("action") {
        "add-member" | "set-role" | "remove-member" => members(context, id, fields).await,
        "grant" | "revoke-grant" | "preview" | "revoke-preview" | "rotate-link" => {
            links(context, id, fields).await
        }
        "offer" | "withdraw" => ownership(context, id, fields).await,
        _ => credentials(context, id, fields).await,
    }
}

async fn members(context: &PageContext, id: &str, fields: &Fields) -> ApiResult<Ended> {
    let api = &context.api;
    let all = format!("/v1/apps/{id}/members");
    let role = fields.some("custom_role");
    match fields.one("action") {
        "add-member" => {
            let mut member = json!({"email": fields.one("email")});
            if let Some(role) = role {
                member["custom_role"] = role.into();
            }
            api.make::<Value>(&all, &member, &FormToken::of(fields)).await?;
            Ok(Ended::Done("member-added"))
        }
        "set-role" => {
            let path = format!("{all}/{}", segment(fields.one("member"))?);
            api.send::<Value>(Method::PATCH, &path, &json!({"custom_role": role})).await?;
            Ok(Ended::Done("role-set"))
        }
        _ => {
            let path = format!("{all}/{}", segment(fields.one("member"))?);
            api.act(Method::DELETE, &path).await?;
            Ok(Ended::Done("member-removed"))
        }
    }
}

async fn links(context: &PageContext, id: &str, fields: &Fields) -> ApiResult<Ended> {
    let api = &context.api;
    match fields.one("action") {
        "grant" => {
            let mut grant = Map::from_iter([("role".to_owned(), fields.one("role").into())]);
            grant.extend(fields.number("max_uses").map(|uses| ("max_uses".to_owned(), uses)));
            grant.extend(lifetime(fields).map(|end| ("expires_in_s".to_owned(), end)));
            let path = format!("/v1/apps/{id}/grants");
            let made = api.make::<Record>(&path, &grant, &FormToken::of(fields)).await?;
            Ok(Ended::Shown(made.map(|record| Once {
                title: "The grant link",
                text: "Whoever opens it has the role, until you revoke it. It is shown this once.",
                secret: record.url,
            })))
        }
        "revoke-grant" => {
            let path = format!("/v1/apps/{id}/grants/{}", segment(fields.one("grant"))?);
            api.act(Method::DELETE, &path).await?;
            Ok(Ended::Done("link-revoked"))
        }
        "preview" => {
            let mut preview = Map::new();
            preview.extend(lifetime(fields).map(|end| ("expires_in_s".to_owned(), end)));
            let path = format!("/v1/apps/{id}/preview-tokens");
            let made = api.make::<Record>(&path, &preview, &FormToken::of(fields)).await?;
            Ok(Ended::Shown(made.map(|record| Once {
                title: "The preview link",
                text: "Whoever opens it reads what anyone may, and writes nothing. It is shown this once.",
                secret: record.url,
            })))
        }
        "revoke-preview" => {
            let path = format!("/v1/apps/{id}/preview-tokens/{}", segment(fields.one("preview"))?);
            api.act(Method::DELETE, &path).await?;
            Ok(Ended::Done("preview-revoked"))
        }
        _ => {
            let path = format!("/v1/apps/{id}/share-link/rotate");
            api.make::<Value>(&path, &json!({}), &FormToken::of(fields)).await?;
            Ok(Ended::Done("link-rotated"))
        }
    }
}

async fn credentials(context: &PageContext, id: &str, fields: &Fields) -> ApiResult<Ended> {
    let api = &context.api;
    let all = format!("/v1/apps/{id}/credentials");
    let one = |verb: &str| -> Result<String, Error> {
        Ok(format!("{all}/{}{verb}", segment(fields.one("credential"))?))
    };
    match fields.one("action") {
        "credential" => {
            let following = fields.one("mode") == "following";
            let credential = json!({
                "name": fields.some("name"),
                "mode": if following { "following" } else { "explicit" },
                "collections": if following { Vec::new() } else { fields.all("collection") },
                "operations": fields.all("operation"),
                "scope": if fields.one("scope") == "own" { "own" } else { "all" },
            });
            let made = api.make(&all, &credential, &FormToken::of(fields)).await?;
            Ok(shown_token("The credential's token", made))
        }
        "rotate-credential" => {
            let made = api.make(&one("/rotate")?, &json!({}), &FormToken::of(fields)).await?;
            Ok(shown_token("The new token; the old one works for a while yet", made))
        }
        "pause-credential" => {
            api.act(Method::POST, &one("/pause")?).await?;
            Ok(Ended::Done("credential-paused"))
        }
        "resume-credential" => {
            api.act(Method::POST, &one("/resume")?).await?;
            Ok(Ended::Done("credential-resumed"))
        }
        "revoke-credential" => {
            api.act(Method::DELETE, &one("")?).await?;
            Ok(Ended::Done("credential-revoked"))
        }
        _ => Err(unknown_action().into()),
    }
}

fn shown_token(title: &'static str, made: Made<Record>) -> Ended {
    Ended::Shown(made.map(|record| Once {
        title,
        text: "For a program: it goes into the header Authorization, after Bearer. It is shown this once.",
        secret: record.token,
    }))
}

async fn ownership(context: &PageContext, id: &str, fields: &Fields) -> ApiResult<Ended> {
    let path = format!("/v1/apps/{id}/transfer");
    if fields.one("action") == "withdraw" {
        context.api.act(Method::DELETE, &path).await?;
        return Ok(Ended::Done("withdrawn"));
    }
    let offer = json!({"email": fields.one("email")});
    context.api.make::<Value>(&path, &offer, &FormToken::of(fields)).await?;
    Ok(Ended::Done("offered"))
}

/// How long a link works, from a number of days.
fn lifetime(fields: &Fields) -> Option<Value> {
    let days = fields.number("days")?;
    Some(days.as_u64().map_or(days, |days| days.saturating_mul(DAY_S.cast_unsigned()).into()))
}

/// An id in a path; what is none leads nowhere else.
fn segment(id: &str) -> Result<&str, Error> {
    let plain = !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if plain { Ok(id) } else { Err(Error::invalid("the form names no id")) }
}
