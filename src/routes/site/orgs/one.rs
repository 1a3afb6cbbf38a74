//! `/orgs/:id`: one organization, who is in it, and its apps; for its admins the forms that change
//! it. Deleting one is not among them: the API does not, and one without members is nobody's.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use rookery_domain::{
    Error, ErrorCode,
    id::{HumanId, OrgId},
    orgs::OrgRole,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::Org;
use crate::{
    error::ApiResult,
    http::params::Path,
    routes::site::{
        fields::Fields,
        form_token::FormToken,
        frame::{Frame, Section},
        notice::{Done, Notice, done_or_gone, or_again},
        page_context::PageContext,
        paging::{CursorTrail, ITEMS_MAX, Pager},
        posted::Posted,
        records::{App, List},
        words::At,
    },
};

/// What a form of the page asks for.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Action {
    Rename,
    AddMember,
    SetRole,
    RemoveMember,
    Leave,
}

/// Somebody in the organization.
#[derive(Deserialize)]
struct Member {
    human_id: HumanId,
    email: Option<String>,
    name: Option<String>,
    role: OrgRole,
    created_at: At,
}

impl Member {
    /// What to call them.
    fn label(&self) -> &str {
        self.name.as_deref().or(self.email.as_deref()).unwrap_or("Without a name")
    }

    /// What they are there, in a word.
    fn standing(&self) -> &'static str {
        match self.role {
            OrgRole::Admin => "Admin",
            OrgRole::Member => "Member",
        }
    }
}

#[derive(Template)]
#[template(path = "site/orgs/one.html")]
struct OrgPage {
    frame: Frame,
    org: Org,
    /// Who looks.
    me: HumanId,
    members: Vec<Member>,
    more_members: Pager,
    /// Its apps; none for who is no admin, to whom they are not there.
    apps: Option<Vec<App>>,
    more_apps: Pager,
    /// What a form that was refused held.
    typed: Fields,
}

/// The page.
pub async fn page(context: PageContext, Path(id): Path<String>) -> Response {
    context.answer(view(&context, &id, StatusCode::OK, None, Fields::default()).await)
}

/// Does what a form of the page asks for.
pub async fn act(Path(id): Path<String>, Posted(context, fields): Posted<Fields>) -> Response {
    let answered = perform(&context, &id, &fields).await.and_then(|done| {
        Ok(match done {
            Done::OrgLeft => context.go("/orgs", done),
            _ => context.again(done),
        }?)
    });
    let again = |status, error| view(&context, &id, status, Some(refusal(&error, &fields)), fields);
    context.answer(or_again(answered, again).await)
}

/// Why a form of the page was refused.
fn refusal(error: &Error, fields: &Fields) -> Notice {
    let Ok(action) = fields.action() else { return Notice::refused(error) };
    let (place, asked): (_, &[_]) = match action {
        Action::Rename => ("", &["name"]),
        Action::AddMember => ("members", &["email"]),
        Action::SetRole | Action::RemoveMember => ("members", &[]),
        Action::Leave => ("", &[]),
    };
    Notice::of_form(error, fields.one("action"), place, asked)
}

async fn perform(context: &PageContext, id: &str, fields: &Fields) -> ApiResult<Done> {
    let api = &context.api;
    let org: OrgId = id.parse().map_err(|_| unknown())?;
    let org = format!("/v1/orgs/{org}");
    let one = || -> Result<String, Error> {
        let member = fields.one("member").parse::<HumanId>();
        let member = member.map_err(|_| Error::invalid("the form names no member"))?;
        Ok(format!("{org}/members/{member}"))
    };
    match fields.action()? {
        Action::Rename => {
            api.send::<Value>(Method::PATCH, &org, &json!({"name": fields.one("name")})).await?;
            Ok(Done::OrgRenamed)
        }
        Action::AddMember => {
            let member = json!({"email": fields.one("email"), "role": fields.some("role")});
            let members = format!("{org}/members");
            api.make::<Value>(&members, &member, &FormToken::of(fields)).await?;
            Ok(Done::OrgMemberAdded)
        }
        Action::SetRole => {
            let role = json!({"role": fields.one("role")});
            match api.send::<Value>(Method::PATCH, &one()?, &role).await {
                // Whoever is an admin no more by this form may send it again.
                Err(failed) if failed.error.code == ErrorCode::Forbidden => {
                    let is_mine = fields.one("member") == context.human.to_string();
                    let now = api.get::<Org>(&org).await?;
                    if !is_mine || now.role.as_str() != fields.one("role") {
                        return Err(failed);
                    }
                }
                set => drop(set?),
            }
            Ok(Done::RoleSet)
        }
        Action::RemoveMember => {
            api.act(Method::DELETE, &one()?).await?;
            Ok(Done::OrgMemberRemoved)
        }
        Action::Leave => {
            let left = api.act(Method::DELETE, &format!("{org}/members/{}", context.human)).await;
            // To whoever has left it is not there.
            done_or_gone(left)?;
            Ok(Done::OrgLeft)
        }
    }
}

fn unknown() -> Error {
    Error::new(ErrorCode::NotFound, "no such organization")
}

async fn view(
    context: &PageContext,
    id: &str,
    status: StatusCode,
    notice: Option<Notice>,
    typed: Fields,
) -> ApiResult<Response> {
    let id: OrgId = id.parse().map_err(|_| unknown())?;
    let (members, apps) = (CursorTrail::of(context, "members"), CursorTrail::of(context, "apps"));
    let api = &context.api;
    let (path, own) = (format!("/v1/orgs/{id}"), apps.path("/v1/self/apps", ITEMS_MAX));
    let (listed, own) =
        (members.path(&format!("{path}/members"), ITEMS_MAX), format!("{own}&org_id={id}"));
    let (org, found, held) = tokio::try_join!(
        api.get::<Org>(&path),
        api.get::<List<Member>>(&listed),
        api.get_if_allowed::<List<App>>(&own),
    )?;
    let (held, next) = held.map_or((None, None), |list| (Some(list.items), list.next_cursor));
    let here = format!("/orgs/{id}");
    let page = OrgPage {
        frame: context.frame(Section::Orgs).with(notice),
        org,
        me: context.human,
        more_members: members.pager("members", &here, found.next_cursor),
        members: found.items,
        apps: held,
        more_apps: apps.pager("apps", &here, next),
        typed,
    };
    Ok(context.page(status, &page)?)
}
