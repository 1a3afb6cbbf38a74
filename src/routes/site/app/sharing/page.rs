//! The page of sharing: members, links, previews, credentials, and the offer of the app to somebody
//! else.

use askama::Template;
use axum::{extract::Path, response::Response};
use http::StatusCode;

use super::records::{Credential, Grant, Member, Offer, Once, Role};
use crate::{
    error::ApiResult,
    routes::site::{
        app::place::{Place, Tab},
        desk::{Desk, Frame},
        notice::Notice,
        records::List,
    },
};

/// Members, links and credentials that the page shows, each.
const SHOWN_MAX: usize = 200;

/// What a credential can be allowed.
const OPERATIONS: &[(&str, &str)] = &[
    ("read", "Read rows"),
    ("create", "Create rows"),
    ("update", "Change rows"),
    ("delete", "Delete rows"),
    ("count", "Count rows"),
];

#[derive(Template)]
#[template(path = "site/app/sharing.html")]
struct SharingPage {
    frame: Frame,
    place: Place,
    members: List<Member>,
    roles: Vec<Role>,
    grants: List<Grant>,
    credentials: List<Credential>,
    offer: Option<Offer>,
    once: Option<Once>,
    operations: &'static [(&'static str, &'static str)],
}

/// The page.
pub async fn page(desk: Desk, Path(id): Path<String>) -> Response {
    desk.answer(view(&desk, &id, StatusCode::OK, None, None).await)
}

/// The page with what an action has to say.
pub(super) async fn view(
    desk: &Desk,
    id: &str,
    status: StatusCode,
    notice: Option<Notice>,
    once: Option<Once>,
) -> ApiResult<Response> {
    let (frame, place) = Place::of_owner(desk, id, Tab::Sharing).await?;
    let list = |what: &str| format!("/v1/apps/{id}/{what}?limit={SHOWN_MAX}");
    let (members, grants, credentials) = (list("members"), list("grants"), list("credentials"));
    let (roles, offer) = (format!("/v1/apps/{id}/roles"), format!("/v1/apps/{id}/transfer"));
    let api = &desk.api;
    let (members, roles, grants, credentials, offer) = tokio::try_join!(
        api.get::<List<Member>>(&members),
        api.get::<List<Role>>(&roles),
        api.get::<List<Grant>>(&grants),
        api.get::<List<Credential>>(&credentials),
        api.get_if_allowed::<Offer>(&offer),
    )?;
    let page = SharingPage {
        frame: frame.with(notice),
        place,
        members,
        roles: roles.items,
        grants,
        credentials,
        offer,
        once,
        operations: OPERATIONS,
    };
    Ok(desk.page(status, &page)?)
}
