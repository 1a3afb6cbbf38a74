//! The words of closed enumerations, spelt by the rules' own enums: the document names each as a
//! type, and generators of clients make one of it.

use std::borrow::Cow;

use rookery_actors::{control::ShownStatus, directory::KeyState};
use rookery_domain::{
    PrincipalKind,
    access::{self, Tier},
    advisory, compat,
    credentials::{self, Mode, Scope},
    grants,
    manifest::Visibility,
    orgs::OrgRole,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{ObjectBuilder, RefOr, Schema, Type},
};

/// A grant link that is revoked is in no record.
const LISTED_GRANTS: &[grants::GrantState] = &[
    grants::GrantState::Active,
    grants::GrantState::UsedUp,
    grants::GrantState::Expired,
    grants::GrantState::Undeclared,
];

/// Names a type of the document after what it is about, and takes its words from a list of the
/// rules' values.
macro_rules! words {
    ($($name:ident = $about:literal, $all:expr;)*) => {$(
        #[doc = $about]
        pub(crate) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                one_of($about, $all)
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                stringify!($name).into()
            }
        }
    )*};
}

words! {
    StatusBody = "What an app does.", ShownStatus::ALL;
    VisibilityBody = "Who reaches an app's page.", Visibility::ALL;
    CallerKind = "What kind of caller somebody is.", PrincipalKind::ALL;
    VisitorKind = "What kind of visitor somebody is.",
        &[PrincipalKind::Anonymous, PrincipalKind::Human, PrincipalKind::Grant];
    VisitorRole = "What a visitor is to the app.", Tier::ALL;
    MemberRole = "What somebody is in an app.", &[Tier::Owner, Tier::Member];
    OrgRoleBody = "What a member is in an organization. An admin changes it, and acts as the owner of its apps; a\nplain member sees it and its members, and is a stranger to its apps.",
        OrgRole::ALL;
    StateView = "What a key, or all keys of an agent, can do.", KeyState::ALL;
    Ability = "On which rows an operation is open: every one, those that the visitor created, those \
               that it wrote last, either, or none.",
        &named(access::Ability::ALL, access::Ability::as_str);
    CreateAbility = "Whether a create is open.",
        &named(&[access::Ability::All, access::Ability::None], access::Ability::as_str);
    CredentialMode = "Whether a credential reaches collections that it does not name.", Mode::ALL;
    CredentialOperation = "What a credential may do.", access::Operation::ALL;
    CredentialScope = "Rows that the credential created only, or all.", Scope::ALL;
    CredentialStatus = "Whether a credential works.", credentials::CredentialStatus::ALL;
    GrantState = "What a grant link that is not revoked does now.", LISTED_GRANTS;
    BreakKind = "What a redeploy breaks.", compat::BreakKind::ALL;
    Severity = "How bad a finding is.", advisory::Severity::ALL;
    Exposure = "What strangers can do.", advisory::Exposure::ALL;
    Audience = "Which strangers.", advisory::Audience::ALL;
    LooksLike = "What a field looks like.", advisory::LooksLike::ALL;
}

fn named<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|one| name(*one)).collect()
}

/// A text that is one of these, as they are written in JSON.
fn one_of<T: Serialize>(about: &str, all: &[T]) -> RefOr<Schema> {
    // The values are units, which serialize.
    let words = all.iter().map(|one| serde_json::to_value(one).unwrap_or(Value::Null));
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(about))
        .enum_values(Some(words))
        .into()
}
