//! The page of sharing: members, links, previews, credentials, and the offer of the app to somebody
//! else.

use askama::Template;
use axum::response::Response;
use http::StatusCode;
use rookery_domain::access::{Operation, Tier};

use super::records::{Credential, Grant, Member, Offer, Once, Preview, Role};
use crate::{
    error::ApiResult,
    http::params::Path,
    routes::site::{
        app::{
            app_page::{AppPage, Tab},
            data::record::Names,
        },
        fields::Fields,
        frame::Frame,
        notice::Notice,
        page_context::PageContext,
        paging::{CursorTrail, ITEMS_MAX, Pager},
        records::List,
    },
};

#[derive(Template)]
#[template(path = "site/app/sharing.html")]
struct SharingPage {
    frame: Frame,
    app_page: AppPage,
    members: Vec<Member>,
    more_members: Pager,
    roles: Vec<Role>,
    grants: Vec<Grant>,
    more_grants: Pager,
    previews: Vec<Preview>,
    more_previews: Pager,
    credentials: Vec<Credential>,
    more_credentials: Pager,
    offer: Option<Offer>,
    /// Whether the server sends mail.
    mails: bool,
    once: Option<Once>,
    /// What a form that was refused held.
    typed: Fields,
    operations: &'static [Operation],
}

impl SharingPage {
    /// Whether a role of this name can be chosen.
    fn offers_role(&self, name: &str) -> bool {
        self.roles.iter().any(|role| role.name == name)
    }

    /// What a credential can be allowed, in words.
    fn allows(&self, operation: &Operation) -> &'static str {
        match operation {
            Operation::Read => "Read rows",
            Operation::Create => "Create rows",
            Operation::Update => "Change rows",
            Operation::Delete => "Delete rows",
            Operation::Count => "Count rows",
        }
    }

    /// What people are shown of the role of this name.
    fn role_label(&self, name: &str) -> String {
        let role = self.roles.iter().find(|role| role.name == name);
        role.map_or_else(|| name.to_owned(), Role::label)
    }
}

/// What an action has to say.
#[derive(Default)]
pub(super) struct Said {
    /// Why it was refused.
    pub notice: Option<Notice>,
    /// What the form held then.
    pub typed: Fields,
    /// What it made.
    pub once: Option<Once>,
}

/// The page.
pub async fn page(context: PageContext, Path(id): Path<String>) -> Response {
    context.answer(view(&context, &id, StatusCode::OK, Said::default()).await)
}

/// The page with what an action has to say.
pub(super) async fn view(
    context: &PageContext,
    id: &str,
    status: StatusCode,
    Said { notice, typed, once }: Said,
) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_owner(context, id, Tab::Sharing).await?;
    let [of_members, of_grants, of_credentials, of_previews] =
        ["members", "grants", "credentials", "previews"].map(|list| CursorTrail::of(context, list));
    let list =
        |trail: &CursorTrail, what: &str| trail.path(&format!("/v1/apps/{id}/{what}"), ITEMS_MAX);
    let members = list(&of_members, "members");
    let grants = list(&of_grants, "grants");
    let credentials = list(&of_credentials, "credentials");
    let previews = list(&of_previews, "preview-tokens");
    let (roles, offer) =
        (format!("/v1/apps/{id}/roles?limit=200"), format!("/v1/apps/{id}/transfer"));
    let api = &context.api;
    let (members, roles, mut grants, mut previews, mut credentials, offer) = tokio::try_join!(
        api.get::<List<Member>>(&members),
        api.get::<List<Role>>(&roles),
        api.get::<List<Grant>>(&grants),
        api.get::<List<Preview>>(&previews),
        api.get::<List<Credential>>(&credentials),
        api.get_if_allowed::<Offer>(&offer),
    )?;
    let names = Names::load(context).await?;
    for one in &mut grants.items {
        one.maker = names.of_owner(context, &one.created_by)?;
    }
    for one in &mut previews.items {
        one.maker = names.of_owner(context, &one.created_by)?;
    }
    for one in &mut credentials.items {
        one.maker = names.of_owner(context, &one.created_by)?;
    }
    let here = format!("/apps/{id}/sharing");
    let page = SharingPage {
        frame: frame.with(notice),
        app_page,
        more_members: of_members.pager("members", &here, members.next_cursor),
        members: members.items,
        roles: roles.items,
        more_grants: of_grants.pager("grant links", &here, grants.next_cursor),
        grants: grants.items,
        more_previews: of_previews.pager("previews", &here, previews.next_cursor),
        previews: previews.items,
        more_credentials: of_credentials.pager("credentials", &here, credentials.next_cursor),
        credentials: credentials.items,
        offer,
        once,
        typed,
        mails: context.state.mailer.reaches_anybody(),
        operations: Operation::ALL,
    };
    Ok(context.page(status, &page)?)
}
