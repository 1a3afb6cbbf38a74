//! `/apps/:id/domains`: an app's own names. Looking at the page is what asks the DNS and the edge
//! provider, as reading them by the API is; so the names have a page, and settings a link to it.

use askama::Template;
use axum::response::Response;
use http::{Method, StatusCode};
use rookery_domain::ErrorCode;
use serde::Deserialize;
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use super::app_page::{AppPage, Tab};
use crate::{
    error::ApiResult,
    http::params::Path,
    routes::{
        domains::record::{DnsPurpose, DomainRole, DomainStatus},
        site::{
            fields::Fields,
            form_token::FormToken,
            frame::Frame,
            notice::{Done, Notice, or_again},
            page_context::PageContext,
            posted::Posted,
            words::At,
        },
    },
};

/// What a form of the page asks for.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Action {
    Add,
    Remove,
}

/// The domains of an app.
#[derive(Deserialize, Default)]
struct Domains {
    items: Vec<Domain>,
}

#[derive(Deserialize)]
struct Domain {
    domain: String,
    role: DomainRole,
    status: DomainStatus,
    refreshed: bool,
    dns_records: Vec<Record>,
    certificate_status: Option<String>,
    errors: Vec<String>,
    created_at: At,
    verified_at: Option<At>,
}

/// A DNS record to set.
#[derive(Deserialize)]
struct Record {
    #[serde(rename = "type")]
    kind: String,
    name: String,
    value: String,
    purpose: DnsPurpose,
}

impl Domain {
    /// How far it is, in words.
    fn state(&self) -> &'static str {
        match self.status {
            DomainStatus::PendingVerification => "Waiting for the TXT record",
            DomainStatus::Taken => "Belongs to another app",
            DomainStatus::PendingEdge => "Proven; requests do not arrive yet",
            DomainStatus::Active => "Works",
        }
    }

    /// What it does for the app, in words, if it does anything.
    fn does(&self) -> Option<&'static str> {
        match self.role {
            DomainRole::Serving => Some("Serves the app"),
            DomainRole::Alias => Some("Leads to the one that serves"),
            DomainRole::Pending => None,
        }
    }
}

impl Record {
    /// What it is for, in words.
    fn reason(&self) -> &'static str {
        match self.purpose {
            DnsPurpose::Verification => "proves that the name is yours",
            DnsPurpose::Edge => "for the certificate",
            DnsPurpose::Serving => "leads visitors here",
        }
    }
}

#[derive(Template)]
#[template(path = "site/app/domains.html")]
struct DomainsPage {
    frame: Frame,
    app_page: AppPage,
    /// Whether the service has custom domains at all.
    enabled: bool,
    domains: Vec<Domain>,
    /// A name that was refused, to be set right.
    typed: String,
}

/// The page.
pub async fn page(context: PageContext, Path(id): Path<String>) -> Response {
    context.answer(view(&context, &id, StatusCode::OK, None, "").await)
}

/// Binds a domain, or removes one.
pub async fn act(Path(id): Path<String>, Posted(context, fields): Posted<Fields>) -> Response {
    let done = perform(&context, &id, &fields).await;
    let answered = done.and_then(|done| Ok(context.go(&format!("/apps/{id}/domains"), done)?));
    let typed = match fields.action() {
        Ok(Action::Add) => fields.one("domain"),
        Ok(Action::Remove) | Err(_) => "",
    };
    let again = |status, error| {
        let asked: &[_] = if typed.is_empty() { &[] } else { &["domain"] };
        let notice = Notice::of_form(&error, fields.one("action"), "", asked);
        view(&context, &id, status, Some(notice), typed)
    };
    context.answer(or_again(answered, again).await)
}

async fn perform(context: &PageContext, id: &str, fields: &Fields) -> ApiResult<Done> {
    let path = format!("/v1/apps/{id}/domain");
    match fields.action()? {
        Action::Add => {
            let body = json!({"domain": fields.one("domain")});
            context.api.make::<Value>(&path, &body, &FormToken::of(fields)).await?;
            Ok(Done::DomainAdded)
        }
        Action::Remove => {
            // Without a name the API removes them all.
            let name: String = byte_serialize(fields.one("domain").as_bytes()).collect();
            let path = format!("{path}?domain={name}");
            match context.api.act(Method::DELETE, &path).await {
                // Somebody else has removed it: the page shows that it is gone.
                Err(failed) if failed.error.code == ErrorCode::DomainNotFound => {}
                removed => removed?,
            }
            Ok(Done::DomainRemoved)
        }
    }
}

async fn view(
    context: &PageContext,
    id: &str,
    status: StatusCode,
    notice: Option<Notice>,
    typed: &str,
) -> ApiResult<Response> {
    let (frame, app_page) = AppPage::of_owner(context, id, Tab::Settings).await?;
    let found = context.api.get::<Domains>(&format!("/v1/apps/{id}/domain")).await;
    let (enabled, domains) = match found {
        Ok(domains) => (true, domains),
        Err(failed) => match failed.error.code {
            ErrorCode::DomainNotFound => (true, Domains::default()),
            ErrorCode::CustomDomainsNotEnabled => (false, Domains::default()),
            _ => return Err(failed),
        },
    };
    let page = DomainsPage {
        frame: frame.with(notice),
        app_page,
        enabled,
        domains: domains.items,
        typed: typed.to_owned(),
    };
    Ok(context.page(status, &page)?)
}
