//! What the document says about one operation beyond its bodies: who may call it, and the errors it
//! answers.

use std::collections::BTreeMap;

use axum::handler::Handler;
use rookery_domain::ErrorCode;
use utoipa::openapi::{
    Content, ObjectBuilder, Ref, RefOr, Required, ResponseBuilder, Schema, Type,
    path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem},
    request_body::RequestBody,
    schema::SchemaType,
    security::SecurityRequirement,
};
use utoipa_axum::router::UtoipaMethodRouter;

use super::{PAGE, error_content, headers, ids};
use crate::{
    http::{
        auth::permission::{Permission, Scheme},
        params::{self, INCLUDE_DELETED},
    },
    state::AppState,
};

/// Errors that any operation may answer, whatever it does.
const COMMON: &[ErrorCode] =
    &[ErrorCode::InvalidRequest, ErrorCode::Internal, ErrorCode::Unavailable];

/// The same of those that are not the operators' own: their listener bounds nobody.
const OF_BOUNDS: &[ErrorCode] = &[ErrorCode::CliUpgradeRequired, ErrorCode::RateLimited];

/// The extractors of a handler, the first of which is its permission. A handler without a
/// permission does not compile as an operation: public routes take
/// [`Public`](crate::http::auth::permission::Public) or, where links lead, `PublicLink`.
pub trait Extractors {
    /// The permission.
    type Permission: Permission;
}

macro_rules! extractors {
    ($($more:ident)*) => {
        impl<M, P: Permission, $($more),*> Extractors for (M, P, $($more,)*) {
            type Permission = P;
        }
    };
}

extractors!();
extractors!(A);
extractors!(A B);
extractors!(A B C);
extractors!(A B C D);
extractors!(A B C D E);
extractors!(A B C D E F);
extractors!(A B C D E F G);

/// Completes the operations in `routes` with the permission of `handler`, its `errors`, and an id
/// that no other one has; `path` is how the router names it.
pub fn describe<H, T>(
    _handler: &H,
    path: &str,
    errors: &[ErrorCode],
    mut routes: UtoipaMethodRouter<AppState>,
) -> UtoipaMethodRouter<AppState>
where
    H: Handler<T, AppState>,
    T: Extractors,
{
    for (template, item) in &mut routes.1.paths {
        if let Some(get) = item.get.as_mut().filter(|_| T::Permission::READS_TRASH) {
            take_include_deleted(get);
        }
        let reads = item.get.is_some();
        if let Some(get) = &mut item.get {
            may_be_unchanged(get);
        }
        let get = item.get.as_ref();
        let is_tagged = get.is_some_and(|get| get.responses.responses.contains_key("304"));
        let of_bounds = if is_operators::<T::Permission>() { &[] } else { OF_BOUNDS };
        let of_tag: &[ErrorCode] = if is_tagged { &[ErrorCode::Conflict] } else { &[] };
        for (_, operation) in operations(item) {
            // Only what changes something is asked where it comes from.
            let checked = |code: &&ErrorCode| !reads || **code != ErrorCode::CsrfOriginMismatch;
            let codes = COMMON
                .iter()
                .chain(of_bounds)
                .chain(T::Permission::CODES)
                .chain(errors)
                .chain(of_tag)
                .filter(checked);
            complete::<T::Permission>(operation, codes);
            identify(operation, path);
            describe_path(operation, template);
        }
    }
    routes
}

/// A handler that is named by a verb alone is told apart by its area: `keys::list::list` becomes
/// `keys_list`. The standard wants ids that are unique.
fn identify(operation: &mut Operation, path: &str) {
    let area = path.split("::").next().unwrap_or_default().trim();
    let verb = path.rsplit("::").next().unwrap_or_default().trim();
    if area != verb && !verb.contains('_') && operation.operation_id.as_deref() == Some(verb) {
        operation.operation_id = Some(format!("{area}_{verb}"));
    }
}

/// Puts the parameters of the path in front of all others: what each is called on every route is said in
/// one place.
fn describe_path(operation: &mut Operation, template: &str) {
    let names = template.split('/').filter_map(params::name_in);
    let of_path = names.filter_map(|name| {
        let (schema, about) = ids::of_parameter(template, name)?;
        let parameter = ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Path)
            .required(Required::True)
            .description(Some(about))
            .schema(Some(schema));
        Some(parameter.build().into())
    });
    let of_path: Vec<RefOr<Parameter>> = of_path.collect();
    if !of_path.is_empty() {
        operation.parameters.get_or_insert_default().splice(..0, of_path);
    }
}

/// Adds the parameter that the permission takes, unless the route says more about it.
fn take_include_deleted(operation: &mut Operation) {
    let parameters = operation.parameters.get_or_insert_default();
    if parameters
        .iter()
        .all(|known| !matches!(known, RefOr::T(known) if known.name == INCLUDE_DELETED))
    {
        let schema = ObjectBuilder::new().schema_type(Type::Boolean);
        let parameter = ParameterBuilder::new()
            .name(INCLUDE_DELETED)
            .parameter_in(ParameterIn::Query)
            .description(Some("Also when the app is in the trash: for the owner (`forbidden`)."))
            .schema(Some(schema));
        parameters.push(parameter.build().into());
    }
}

/// Pages of lists have an entity tag, and are not sent again to whoever has them.
fn may_be_unchanged(get: &mut Operation) {
    let page = Ref::from_schema_name(PAGE).ref_location;
    let is_page = get.responses.responses.get("200").is_some_and(|answer| {
        let RefOr::T(answer) = answer else { return false };
        answer.content.values().any(|content| match content {
            RefOr::T(Content { schema: Some(RefOr::Ref(schema)), .. }) => {
                schema.ref_location.starts_with(&page)
            }
            _ => false,
        })
    });
    if is_page {
        let unchanged = ResponseBuilder::new().description("The page has not changed.").build();
        let answers = &mut get.responses.responses;
        answers.entry("304".to_owned()).or_insert_with(|| unchanged.into());
    }
}

/// A body that may be left out is described as one that may be `null`, which is not the same.
fn without_null(body: &mut RequestBody) {
    for content in body.content.values_mut() {
        let RefOr::T(content) = content else { continue };
        let Some(RefOr::T(Schema::OneOf(either))) = &mut content.schema else { continue };
        let mut kinds = either.items.iter().filter(|schema| !is_null(schema));
        if let (Some(only), None) = (kinds.next().cloned(), kinds.next()) {
            content.schema = Some(only);
        }
    }
}

fn is_null(schema: &RefOr<Schema>) -> bool {
    let RefOr::T(Schema::Object(object)) = schema else { return false };
    object.schema_type == SchemaType::Type(Type::Null)
}

fn complete<'a, P: Permission>(
    operation: &mut Operation,
    errors: impl Iterator<Item = &'a ErrorCode>,
) {
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        without_null(body);
    }
    let mut security: Vec<_> = P::SCHEMES
        .iter()
        .map(|scheme| SecurityRequirement::new::<_, [&str; 0], &str>(scheme.name(), []))
        .collect();
    if P::OPTIONAL || security.is_empty() {
        security.push(SecurityRequirement::default());
    }
    operation.security = Some(security);
    let who = format!("Who: {}", P::WHO);
    operation.description = Some(match operation.description.take() {
        Some(text) => format!("{text}\n\n{who}"),
        None => who,
    });

    let mut by_status = BTreeMap::<u16, Vec<ErrorCode>>::new();
    for code in errors {
        let codes = by_status.entry(code.status()).or_default();
        if !codes.contains(code) {
            codes.push(*code);
        }
    }
    for (status, mut codes) in by_status {
        codes.sort_unstable();
        let names: Vec<_> = codes.iter().map(|code| format!("`{code}`")).collect();
        let mut response = ResponseBuilder::new()
            .description(names.join(", "))
            .content("application/json", error_content())
            .build();
        headers::add(&mut response, headers::of_errors(&codes));
        operation.responses.responses.insert(status.to_string(), response.into());
    }
    headers::complete(operation, !is_operators::<P>());
}

/// Whether it is asked for at the operators' listener.
fn is_operators<P: Permission>() -> bool {
    P::SCHEMES.contains(&Scheme::OperatorToken)
}

/// The operations of a path, each with its verb.
pub(super) fn operations(
    item: &mut PathItem,
) -> impl Iterator<Item = (&'static str, &mut Operation)> {
    let all = [
        ("GET", &mut item.get),
        ("PUT", &mut item.put),
        ("POST", &mut item.post),
        ("DELETE", &mut item.delete),
        ("PATCH", &mut item.patch),
    ];
    all.into_iter().filter_map(|(verb, operation)| Some((verb, operation.as_mut()?)))
}
