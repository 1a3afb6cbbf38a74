//! The API's own description: the OpenAPI 3.1 document, built from the handlers' types, and what
//! is rendered from it and from the error table.
//!
//! utoipa collects path, verb, parameters and bodies from each handler. Credentials come from the
//! permission in the handler's signature ([`operation`]), errors from its module's list.

mod operation;
mod prose;
mod reference;

use utoipa::PartialSchema as _;
use utoipa::openapi::{
    Components, ComponentsBuilder, ContentBuilder, InfoBuilder, OpenApi, OpenApiBuilder, Ref,
    ServerBuilder, ServerVariableBuilder,
    security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityScheme},
};

use crate::{
    error::{ErrorBody, ErrorEnvelope},
    http::auth::{
        SESSION_COOKIE,
        permission::Scheme,
        visitor::{PARTICIPANT_COOKIE, PARTICIPANT_HEADER},
    },
};

pub use operation::{Extractors, describe};
pub use reference::Reference;

/// The schema of every error answer.
const ERROR_SCHEMA: &str = "ErrorEnvelope";

/// A document without routes: title, credentials, the error envelope.
#[must_use]
pub fn skeleton() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Rookery")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(include_str!("description.md")));
    OpenApiBuilder::new().info(info.build()).components(Some(components())).build()
}

/// The document of the operator's listener, without routes.
#[must_use]
pub fn operators() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Rookery for operators")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "The operator's listener (`ops.listen`). Where `ops.token` is set, every request needs \
             it: as a bearer, or as the password of HTTP Basic.",
        ));
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer);
    let bearer = bearer.description(Some("`ops.token`, where it is set.")).build();
    let components = ComponentsBuilder::new()
        .schema("ErrorBody", ErrorBody::schema())
        .schema(ERROR_SCHEMA, ErrorEnvelope::schema())
        .security_scheme(Scheme::OperatorToken.name(), SecurityScheme::Http(bearer))
        .build();
    OpenApiBuilder::new().info(info.build()).components(Some(components)).build()
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
         need the app's own `Origin`.",
    );
    ComponentsBuilder::new()
        .schema("ErrorBody", ErrorBody::schema())
        .schema(ERROR_SCHEMA, ErrorEnvelope::schema())
        .security_scheme(Scheme::AgentKey.name(), bearer("An agent's key, `rk_agent_...`."))
        .security_scheme(
            Scheme::ServiceCredential.name(),
            bearer("A service credential of one app, `rk_cred_...` or `rk_lease_...`."),
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
    let slug = ServerVariableBuilder::new()
        .default_value("guestbook")
        .description(Some("The app's slug."));
    let server = ServerBuilder::new()
        .url("http://{slug}.localhost:8080")
        .description(Some("The origin of one app; its record has it as `url`."))
        .parameter("slug", slug)
        .build();
    for path in document.paths.paths.values_mut() {
        path.servers = Some(vec![server.clone()]);
    }
}

/// The content of every error answer.
fn error_content() -> utoipa::openapi::Content {
    ContentBuilder::new().schema(Some(Ref::from_schema_name(ERROR_SCHEMA))).build()
}

/// The document as the service answers it and as it is kept in the repository.
#[must_use]
pub fn to_json(document: &OpenApi) -> String {
    // A document of strings and maps serializes.
    let mut text = serde_json::to_string_pretty(document).unwrap_or_default();
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
