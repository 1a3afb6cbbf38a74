//! The API's own description: the OpenAPI 3.1 document, built from the handlers' types, and what
//! is rendered from it and from the error table.
//!
//! utoipa collects path, verb, parameters and bodies from each handler. Credentials come from the
//! permission in the handler's signature ([`operation`]), errors from its module's list.

mod aliases;
mod at_origin;
mod compact;
mod errors;
mod guide;
mod headers;
pub(crate) mod ids;
mod operation;
mod prose;
mod reference;
pub(crate) mod rules;
pub(crate) mod shapes;
mod tags;
pub(crate) mod words;

use utoipa::openapi::{
    Components, ComponentsBuilder, ContentBuilder, Info, InfoBuilder, OpenApi, OpenApiBuilder, Ref,
    RefOr, Schema, Server, ServerBuilder, ServerVariableBuilder,
    info::LicenseBuilder,
    schema::ArrayItems,
    security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
};
use utoipa::{PartialSchema as _, ToSchema as _};

use crate::{
    error::{ErrorBody, ErrorEnvelope},
    http::{
        auth::{permission::Scheme, visitor::PARTICIPANT_HEADER},
        cookie::{
            participant::{PARTICIPANT_COOKIE, PARTICIPANT_COOKIE_PLAIN},
            session::{SESSION_COOKIE, SESSION_COOKIE_PLAIN},
        },
    },
};

use shapes::AnyObject;

pub use aliases::list_aliases;
pub use at_origin::{AtOrigin, serve_at_origin};
pub use operation::{Extractors, describe};
pub use reference::{Documents, Reference};

/// The schema of every error answer.
const ERROR_SCHEMA: &str = "ErrorEnvelope";

/// Where a server listens that was not told otherwise; a running one names its own address.
const API_SERVER: &str = "http://localhost:8080";
/// The operators' listener answers its document itself: the address is that of the document.
const OPERATORS_SERVER: &str = "/";

fn info(title: &str, description: &str) -> Info {
    let license = LicenseBuilder::new()
        .name(env!("CARGO_PKG_LICENSE"))
        .identifier(Some(env!("CARGO_PKG_LICENSE")));
    InfoBuilder::new()
        .title(title)
        .version(env!("CARGO_PKG_VERSION"))
        .license(Some(license.build()))
        .description(Some(description))
        .build()
}

/// A document without routes: title, groups, credentials, the error envelope.
#[must_use]
pub fn skeleton() -> OpenApi {
    OpenApiBuilder::new()
        .info(info("Rookery", include_str!("description.md")))
        .servers(Some([Server::new(API_SERVER)]))
        .tags(Some(tags::api()))
        .components(Some(components()))
        .build()
}

/// The document of the operator's listener, without routes.
#[must_use]
pub fn operators() -> OpenApi {
    let info = info(
        "Rookery for operators",
        "The operator's listener (`ops.listen`). Where `ops.token` is set, every request needs it: \
         as a bearer, or as the password of HTTP Basic.",
    );
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
    let bearer = bearer.description(Some("`ops.token`, where it is set.")).build();
    let components = error_schemas()
        .security_scheme(Scheme::OperatorToken.name(), SecurityScheme::Http(bearer))
        .build();
    OpenApiBuilder::new()
        .info(info)
        .servers(Some([Server::new(OPERATORS_SERVER)]))
        .tags(Some(tags::operators()))
        .components(Some(components))
        .build()
}

/// What every error answer is made of.
fn error_schemas() -> ComponentsBuilder {
    headers::components(ComponentsBuilder::new())
        .schema(AnyObject::name(), AnyObject::schema())
        .schema("ErrorBody", ErrorBody::schema())
        .schema(ERROR_SCHEMA, ErrorEnvelope::schema())
}

fn components() -> Components {
    let bearer = |what: &str| {
        let http = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(what));
        SecurityScheme::Http(http.build())
    };
    let session = ApiKeyValue::with_description(
        SESSION_COOKIE,
        "The session of a signed-in human; `service_session` over plain http. Requests that change \
         something need `Origin`.",
    );
    let participant = "The token of a visitor of one app, `rk_part_...`.";
    let token = ApiKeyValue::with_description(PARTICIPANT_HEADER.as_str(), participant);
    let cookie = ApiKeyValue::with_description(
        PARTICIPANT_COOKIE,
        "The same token; `service_participant` over plain http. Requests that change something \
         need the app's own `Origin`. Where apps live at paths of the site these routes take the \
         header alone.",
    );
    ids::in_paths(headers::api_components(error_schemas()))
        .security_scheme(Scheme::AgentKey.name(), bearer("An agent's key, `rk_agent_...`."))
        .security_scheme(
            Scheme::ServiceCredential.name(),
            bearer("A service credential of one app, `rk_cred_...`."),
        )
        .security_scheme(
            Scheme::HumanSession.name(),
            SecurityScheme::ApiKey(ApiKey::Cookie(session)),
        )
        .security_scheme(
            Scheme::ParticipantToken.name(),
            SecurityScheme::ApiKey(ApiKey::Header(token)),
        )
        .security_scheme(
            Scheme::ParticipantCookie.name(),
            SecurityScheme::ApiKey(ApiKey::Cookie(cookie)),
        )
        .build()
}

/// Says of every path of `document` that it is on an app's own origin.
pub fn serve_from_app_origin(document: &mut OpenApi) {
    // Without a description of its own: tools check it by a schema that misspells the word.
    let slug = ServerVariableBuilder::new().default_value("guestbook");
    let server = ServerBuilder::new()
        .url("http://{slug}.localhost:8080")
        .description(Some("The origin of the app with this slug; its record has it as `url`."))
        .parameter("slug", slug)
        .build();
    for path in document.paths.paths.values_mut() {
        path.servers = Some(vec![server.clone()]);
    }
}

/// Has the document name the addresses of a running server: that of the `site`, and that of an
/// `app`, with `{slug}` in it; and the cookies that it sets there.
pub(crate) fn name_addresses(document: &mut OpenApi, site: &str, app: &str) {
    if !site.starts_with("https:") {
        name_plain_cookies(document);
    }
    document.servers = Some(vec![Server::new(site)]);
    for path in document.paths.paths.values_mut() {
        for server in path.servers.iter_mut().flatten() {
            app.trim_end_matches('/').clone_into(&mut server.url);
        }
    }
}

/// Over plain http browsers keep no cookie whose name has a prefix.
fn name_plain_cookies(document: &mut OpenApi) {
    let Some(components) = &mut document.components else { return };
    for (scheme, plain) in [
        (Scheme::HumanSession, SESSION_COOKIE_PLAIN),
        (Scheme::ParticipantCookie, PARTICIPANT_COOKIE_PLAIN),
    ] {
        if let Some(RefOr::T(SecurityScheme::ApiKey(ApiKey::Cookie(cookie)))) =
            components.security_schemes.get_mut(scheme.name())
        {
            plain.clone_into(&mut cookie.name);
        }
    }
}

/// What a page's items are called in its name: `Page_OwnApp`.
const PAGE: &str = "Page_";

/// Has each page of a list refer to the schema of its items, which it otherwise repeats.
pub fn share_items(document: &mut OpenApi) {
    let Some(components) = &mut document.components else { return };
    let known: Vec<_> = components.schemas.keys().cloned().collect();
    for (name, schema) in &mut components.schemas {
        let Some(item) = name.strip_prefix(PAGE).filter(|item| known.iter().any(|one| one == item))
        else {
            continue;
        };
        if let RefOr::T(Schema::Object(page)) = schema
            && let Some(RefOr::T(Schema::Array(items))) = page.properties.get_mut("items")
        {
            items.items = ArrayItems::RefOrSchema(Box::new(Ref::from_schema_name(item).into()));
        }
    }
}

/// The content of every error answer.
fn error_content() -> utoipa::openapi::Content {
    ContentBuilder::new().schema(Some(Ref::from_schema_name(ERROR_SCHEMA))).build()
}

/// The document as the service answers it and as it is kept in the repository.
#[must_use]
pub fn to_json(document: &OpenApi) -> String {
    let mut document = document.clone();
    errors::share(&mut document);
    // A document of strings and maps serializes.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// Registers a handler with everything the document says about it: `operation!(create::create,
/// create::ERRORS)`. Several verbs of one path are registered one by one.
#[macro_export]
macro_rules! operation {
    ($($handler:ident)::+, $errors:expr) => {
        $crate::openapi::describe(
            &$($handler)::+,
            stringify!($($handler)::+),
            $errors,
            utoipa_axum::routes!($($handler)::+),
        )
    };
}
