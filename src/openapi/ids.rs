//! Ids as types of the document: what each kind looks like, from the rules' own prefixes.

use std::borrow::Cow;

use rookery_domain::{id, row_key, slug};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ComponentsBuilder, ObjectBuilder, Ref, RefOr, Schema, Type},
};

/// The 26 characters behind the underscore of every id.
const SUFFIX: &str = "[0-7][0-9a-hjkmnp-tv-z]{25}";

macro_rules! ids {
    ($($name:ident = $about:literal;)*) => {$(
        #[doc = $about]
        pub(crate) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                text($about, format!("^{}_{SUFFIX}$", id::$name::PREFIX))
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
        }
    )*};
}

ids! {
    AppId = "An app's id.";
    AgentId = "An agent's id.";
    HumanId = "A human's id.";
    KeyId = "The id of an agent's key.";
    SessionId = "The id of a session of the site.";
    CredentialId = "A service credential's id.";
    GrantId = "A grant link's id.";
    PreviewId = "A preview token's id.";
    OrgId = "An organization's id.";
    TransferId = "The id of an offer of ownership.";
    DomainId = "A custom domain's id.";
}

/// The id of whoever did something, of whichever kind.
pub(crate) struct CallerId;

impl PartialSchema for CallerId {
    fn schema() -> RefOr<Schema> {
        text(
            "The id of a caller of any kind; `system` is the service itself.",
            format!("^([a-z]{{3}}_{SUFFIX}|system)$"),
        )
    }
}

impl ToSchema for CallerId {
    fn name() -> Cow<'static, str> {
        "CallerId".into()
    }
}

/// What a path names an app by.
struct AppName;

impl PartialSchema for AppName {
    fn schema() -> RefOr<Schema> {
        // A slug begins and ends with a letter or a digit.
        let between = (slug::LEN.start() - 2, slug::LEN.end() - 2);
        let slug = format!("[a-z0-9][a-z0-9-]{{{},{}}}[a-z0-9]", between.0, between.1);
        let either = format!("^({}_{SUFFIX}|{slug})$", id::AppId::PREFIX);
        text("An app's id, or its slug.", either)
    }
}

impl ToSchema for AppName {
    fn name() -> Cow<'static, str> {
        "AppName".into()
    }
}

fn text(about: &str, pattern: String) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(about))
        .pattern(Some(pattern))
        .into()
}

/// The types that only paths name.
pub(super) fn in_paths(components: ComponentsBuilder) -> ComponentsBuilder {
    components.schema(AppName::name(), AppName::schema())
}

/// What the parameter `name` of a path of the site is: its type, and what the document says of it. `None`
/// for one that the route describes itself.
pub(super) fn of_parameter(path: &str, name: &str) -> Option<(RefOr<Schema>, &'static str)> {
    let of_id = |path: &str| {
        Some(match path.split('/').skip(1).take(3).collect::<Vec<_>>()[..] {
            ["v1", "apps", _] => (AppName::name(), "The app's id or slug."),
            ["v1", "orgs", _] => (OrgId::name(), "The organization's id."),
            ["v1", "keys", _] => (KeyId::name(), "The id of the presented key."),
            ["v1", "self", "agents"] => (AgentId::name(), "The agent's id."),
            ["v1", "self", "sessions"] => (SessionId::name(), "The session's id."),
            ["v1", "self", "transfers"] => (TransferId::name(), "The offer's id."),
            _ => return None,
        })
    };
    let (id, about) = match name {
        "id" => of_id(path)?,
        "appId" => (AppName::name(), "The app's id or slug."),
        "human_id" => (HumanId::name(), "The member's id."),
        "credential_id" => (CredentialId::name(), "The credential's id."),
        "grant_id" => (GrantId::name(), "The link's id."),
        "token_id" => (PreviewId::name(), "The token's id."),
        "name" => {
            let name = ObjectBuilder::new().schema_type(Type::String);
            return Some((name.into(), "The collection."));
        }
        "key" => {
            let key = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
            let key = key.max_length(Some(row_key::CHARS_MAX)).into();
            return Some((key, "The row's key, percent-encoded (`/` as `%2F`)."));
        }
        _ => return None,
    };
    Some((Ref::from_schema_name(id).into(), about))
}
