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
        fields::Fields,
        form_token::FormToken,
        notice::{Done, Notice, or_again},
        page_context::PageContext,
        posted::Posted,
        words,
    },
};

/// What a form of the page asks for.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Action {
    AddMember,
    SetRole,
    RemoveMember,
    Grant,
    RevokeGrant,
    Preview,
    RevokePreview,
    RotateLink,
    Credential,
    RotateCredential,
    PauseCredential,
    ResumeCredential,
    RevokeCredential,
    Offer,
    Withdraw,
}

/// What was made, with its secret unless it was made before.
#[derive(Deserialize)]
struct Record {
    url: Option<String>,
    token: Option<String>,
}

/// How an action ended: with a code for the page's address, or with something to be shown once, which
/// may have been before.
enum Ended {
    Done(Done),
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
    let Ok(action) = fields.action() else { return Notice::refused(error) };
    let (place, asked): (_, &[_]) = match action {
        Action::AddMember if words::names(error, "custom_role") => ("members", &["custom_role"]),
        Action::AddMember => ("members", &["email"]),
        Action::SetRole | Action::RemoveMember => ("members", &[]),
        Action::Grant => ("grants", &["role", "max_uses", "days"]),
        Action::RevokeGrant => ("grants", &[]),
        // That part is there for a private app only.
        Action::Preview => ("", &["days"]),
        Action::RevokePreview | Action::RotateLink => ("", &[]),
        Action::Credential => ("credentials", &["name", "collection", "operation"]),
        Action::RotateCredential
        | Action::PauseCredential
        | Action::ResumeCredential
        | Action::RevokeCredential => ("credentials", &[]),
        Action::Offer => ("offer", &["email"]),
        Action::Withdraw => ("offer", &[]),
    };
    Notice::of_form(error, fields.one("action"), place, asked)
}

async fn perform(context: &PageContext, id: &str, fields: &Fields) -> ApiResult<Ended> {
    let api = &context.api;
    let app = format!("/v1/apps/{id}");
    let one = |list: &str, name: &str| -> Result<String, Error> {
        Ok(format!("{app}/{list}/{}", segment(fields.one(name))?))
    };
    let (method, path, done) = match fields.action()? {
        Action::AddMember => return add_member(context, &app, fields).await,
        Action::SetRole => {
            let role = json!({"custom_role": fields.some("custom_role")});
            api.send::<Value>(Method::PATCH, &one("members", "member")?, &role).await?;
            return Ok(Ended::Done(Done::RoleSet));
        }
        Action::RemoveMember => (Method::DELETE, one("members", "member")?, Done::MemberRemoved),
        Action::Grant => return grant(context, &app, fields).await,
        Action::RevokeGrant => (Method::DELETE, one("grants", "grant")?, Done::GrantRevoked),
        Action::Preview => return preview(context, &app, fields).await,
        Action::RevokePreview => {
            (Method::DELETE, one("preview-tokens", "preview")?, Done::PreviewRevoked)
        }
        Action::RotateLink => {
            let path = format!("{app}/share-link/rotate");
            api.make::<Value>(&path, &json!({}), &FormToken::of(fields)).await?;
            return Ok(Ended::Done(Done::ShareLinkRotated));
        }
        Action::Credential => return credential(context, &app, fields).await,
        Action::RotateCredential => {
            let path = one("credentials", "credential")? + "/rotate";
            let made = api.make(&path, &json!({}), &FormToken::of(fields)).await?;
            return Ok(shown_token("The new token; the old one works for a while yet", made));
        }
        Action::PauseCredential => {
            (Method::POST, one("credentials", "credential")? + "/pause", Done::CredentialPaused)
        }
        Action::ResumeCredential => {
            (Method::POST, one("credentials", "credential")? + "/resume", Done::CredentialResumed)
        }
        Action::RevokeCredential => {
            (Method::DELETE, one("credentials", "credential")?, Done::CredentialRevoked)
        }
        Action::Offer => {
            let offer = json!({"email": fields.one("email")});
            let path = format!("{app}/transfer");
            api.make::<Value>(&path, &offer, &FormToken::of(fields)).await?;
            return Ok(Ended::Done(Done::Offered));
        }
        Action::Withdraw => (Method::DELETE, format!("{app}/transfer"), Done::Withdrawn),
    };
    api.act(method, &path).await?;
    Ok(Ended::Done(done))
}

async fn add_member(context: &PageContext, app: &str, fields: &Fields) -> ApiResult<Ended> {
    let mut member = json!({"email": fields.one("email")});
    if let Some(role) = fields.some("custom_role") {
        member["custom_role"] = role.into();
    }
    let path = format!("{app}/members");
    context.api.make::<Value>(&path, &member, &FormToken::of(fields)).await?;
    Ok(Ended::Done(Done::MemberAdded))
}

async fn grant(context: &PageContext, app: &str, fields: &Fields) -> ApiResult<Ended> {
    let mut grant = Map::from_iter([("role".to_owned(), fields.one("role").into())]);
    grant.extend(fields.number("max_uses").map(|uses| ("max_uses".to_owned(), uses)));
    grant.extend(lifetime(fields).map(|end| ("expires_in_s".to_owned(), end)));
    let path = format!("{app}/grants");
    let made = context.api.make::<Record>(&path, &grant, &FormToken::of(fields)).await?;
    Ok(Ended::Shown(made.map(|record| Once {
        title: "The grant link",
        text: "Whoever opens it has the role, until you revoke it. It is shown this once.",
        secret: record.url,
    })))
}

async fn preview(context: &PageContext, app: &str, fields: &Fields) -> ApiResult<Ended> {
    let mut preview = Map::new();
    preview.extend(lifetime(fields).map(|end| ("expires_in_s".to_owned(), end)));
    let path = format!("{app}/preview-tokens");
    let made = context.api.make::<Record>(&path, &preview, &FormToken::of(fields)).await?;
    Ok(Ended::Shown(made.map(|record| Once {
        title: "The preview link",
        text: "Whoever opens it reads what anyone may, and writes nothing. It is shown this once.",
        secret: record.url,
    })))
}

async fn credential(context: &PageContext, app: &str, fields: &Fields) -> ApiResult<Ended> {
    let following = fields.one("mode") == "following";
    let credential = json!({
        "name": fields.some("name"),
        "mode": if following { "following" } else { "explicit" },
        "collections": if following { Vec::new() } else { fields.all("collection") },
        "operations": fields.all("operation"),
        "scope": if fields.one("scope") == "own" { "own" } else { "all" },
    });
    let path = format!("{app}/credentials");
    let made = context.api.make(&path, &credential, &FormToken::of(fields)).await?;
    Ok(shown_token("The credential's token", made))
}

fn shown_token(title: &'static str, made: Made<Record>) -> Ended {
    Ended::Shown(made.map(|record| Once {
        title,
        text: "For a program: it goes into the header Authorization, after Bearer. It is shown this once.",
        secret: record.token,
    }))
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
