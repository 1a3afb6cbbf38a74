//! Ids as types of the document: what each kind looks like, from the rules' own prefixes.

use std::borrow::Cow;

use rookery_domain::{id, slug};
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

/// The type of a parameter of a path of the site, where it is an id.
pub(super) fn of_parameter(path: &str, name: &str) -> Option<Ref> {
    let of_id = |path: &str| {
        Some(match path.split('/').skip(1).take(3).collect::<Vec<_>>()[..] {
            ["v1", "apps", _] => AppName::name(),
            ["v1", "orgs", _] => OrgId::name(),
            ["v1", "keys", _] => KeyId::name(),
            ["v1", "self", "agents"] => AgentId::name(),
            ["v1", "self", "sessions"] => SessionId::name(),
            ["v1", "self", "transfers"] => TransferId::name(),
            _ => return None,
        })
    };
    let name = match name {
        "id" => of_id(path)?,
        "appId" => AppName::name(),
        "human_id" => HumanId::name(),
        "credential_id" => CredentialId::name(),
        "grant_id" => GrantId::name(),
        "token_id" => PreviewId::name(),
        _ => return None,
    };
    Some(Ref::from_schema_name(name))
}
