//! `/transfers`: a human sees the apps that are offered to its address, and takes or declines them.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use rookery_domain::{
    ErrorCode,
    id::{AppId, HumanId, TransferId},
};
use serde::Deserialize;

use super::{
    frame::{Frame, Section},
    notice::{Done, Notice},
    page_context::PageContext,
    paging::{CursorTrail, ITEMS_MAX, ONLY, Pager},
    posted::Posted,
    records::{List, Migration},
    words::{At, Count},
};
use crate::error::{self, ApiResult};

/// What the form sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Form {
    transfer: TransferId,
    /// The app that is offered.
    app: Option<AppId>,
    decision: Decision,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Decision {
    Accept,
    Decline,
}

#[derive(Deserialize)]
struct Offer {
    id: TransferId,
    app: OfferedApp,
    offered_by: OfferedBy,
    comes_with: ComesWith,
    created_at: At,
}

#[derive(Deserialize)]
struct OfferedApp {
    id: AppId,
    slug: String,
    url: String,
}

#[derive(Deserialize)]
struct OfferedBy {
    name: Option<String>,
    /// Its address, where it is proven.
    email: Option<String>,
}

/// What goes over with the app.
#[derive(Deserialize)]
struct ComesWith {
    members: Count,
    grant_links: Count,
    service_credentials: Count,
    share_link: bool,
    custom_domains: Count,
    migration_mode: Migration,
    leaves_organization: bool,
}

impl ComesWith {
    /// What there is of it in others' hands, each with its number.
    fn parts(&self) -> Vec<String> {
        [
            (self.members, "member", "members"),
            (self.grant_links, "grant link", "grant links"),
            (self.service_credentials, "service credential", "service credentials"),
        ]
        .into_iter()
        .filter(|(count, ..)| count.0 > 0)
        .map(|(count, one, several)| count.of(one, several))
        .collect()
    }
}

#[derive(Deserialize)]
struct Profile {
    email_verified: bool,
}

/// Of an app, whose it is.
#[derive(Deserialize)]
struct Owned {
    owner: Owner,
}

#[derive(Deserialize)]
struct Owner {
    id: HumanId,
}

#[derive(Template)]
#[template(path = "site/transfers.html")]
struct TransfersPage {
    frame: Frame,
    offers: Vec<Offer>,
    pager: Pager,
    /// Whether the human's address is proven; only such a one is offered anything.
    verified: bool,
}

/// The page.
pub async fn page(context: PageContext) -> Response {
    context.answer(view(&context, StatusCode::OK, None).await)
}

/// Takes an app or declines it.
pub async fn decide(Posted(context, form): Posted<Form>) -> Response {
    context.answer(perform(&context, form).await)
}

async fn perform(context: &PageContext, form: Form) -> ApiResult<Response> {
    let Form { transfer, app, decision } = form;
    let (verb, done) = match decision {
        Decision::Accept => ("accept", Done::Accepted),
        Decision::Decline => ("decline", Done::Declined),
    };
    let path = format!("/v1/self/transfers/{transfer}/{verb}");
    match context.api.act(Method::POST, &path).await {
        // Seen anew, so that reloading the page decides nothing again.
        Ok(()) => Ok(context.go("/transfers", done)?),
        Err(failed) => {
            if let (ErrorCode::NotFound, Some(app)) = (failed.error.code, app) {
                // A form that was sent before has what it wants.
                match (decision, is_owner(context, app).await?) {
                    (Decision::Accept, true) => return Ok(context.go("/transfers", done)?),
                    (Decision::Decline, false) => {
                        return Ok(context.go("/transfers", Done::OfferGone)?);
                    }
                    _ => {}
                }
            }
            let notice = match (failed.error.code, explain(failed.error.code)) {
                // Of apps, of rows, or of what is in the trash: the refusal says which.
                (ErrorCode::AccountQuotaExceeded, _) => Notice::refused(&failed.error),
                (_, Some(why)) => Notice::of_refusal(why.to_owned(), None),
                _ => return Err(failed),
            };
            view(context, error::status(failed.error.code), Some(notice)).await
        }
    }
}

/// Whether the human owns the app.
async fn is_owner(context: &PageContext, app: AppId) -> ApiResult<bool> {
    let found = context.api.get_if_allowed::<Owned>(&format!("/v1/apps/{app}")).await?;
    Ok(found.is_some_and(|app| app.owner.id == context.human))
}

/// What to tell a human of an offer that cannot be taken; `None` for a failure of the service.
const fn explain(code: ErrorCode) -> Option<&'static str> {
    Some(match code {
        ErrorCode::NotFound => "This offer is gone: it was withdrawn, declined or accepted.",
        ErrorCode::EmailNotVerified => "Verify the address that the app is offered to first.",
        ErrorCode::SoftDeleted => "The app is in the trash. Its owner can bring it back.",
        ErrorCode::AppClosed => "The app was taken down.",
        ErrorCode::Conflict => "The app is yours already.",
        _ => return None,
    })
}

async fn view(
    context: &PageContext,
    status: StatusCode,
    notice: Option<Notice>,
) -> ApiResult<Response> {
    let trail = CursorTrail::of(context, ONLY);
    let path = trail.path("/v1/self/transfers", ITEMS_MAX);
    let (offers, profile) = tokio::try_join!(
        context.api.get::<List<Offer>>(&path),
        context.api.get::<Profile>("/v1/self/profile"),
    )?;
    let page = TransfersPage {
        frame: context.frame(Section::Apps).with(notice),
        offers: offers.items,
        pager: trail.pager("offers", "/transfers", offers.next_cursor),
        verified: profile.email_verified,
    };
    Ok(context.page(status, &page)?)
}
