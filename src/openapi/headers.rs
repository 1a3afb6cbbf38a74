//! The headers of answers, and the conditions of requests. What carries which follows from what an
//! operation is: whether it may answer 304, makes a row, takes `Idempotency-Key`, or fails with what is
//! worth another try.

use rookery_domain::ErrorCode;
use utoipa::openapi::{
    ComponentsBuilder, Content, Header, HeaderBuilder, ObjectBuilder, Ref, RefOr, Response, Type,
    path::{Operation, ParameterIn},
};

use crate::http::params::optional_header;

const REQUEST_ID: &str = "X-Request-Id";
const RETRY_AFTER: &str = "Retry-After";
const WWW_AUTHENTICATE: &str = "WWW-Authenticate";
const RATE_LIMIT: &str = "RateLimit";
const RATE_LIMIT_POLICY: &str = "RateLimit-Policy";
const ETAG: &str = "ETag";
const LOCATION: &str = "Location";
const REPLAYED: &str = "Idempotent-Replayed";
const IF_MATCH: &str = "If-Match";
const IF_NONE_MATCH: &str = "If-None-Match";
const ROW_EXISTED: &str = "Row-Existed";
/// The schema of one row, whose answer has an entity tag.
const ROW: &str = "RowRecord";
/// That of what a deploy would do.
const REHEARSAL: &str = "Rehearsal";

/// The headers of any answer, to which answers refer by name.
pub(super) fn components(components: ComponentsBuilder) -> ComponentsBuilder {
    let request_id = "The request's id: that of the request, where it has a good one.";
    components
        .header(REQUEST_ID, header(Type::String, request_id))
        .header(RETRY_AFTER, header(Type::Integer, "Seconds after which to try again."))
        .header(WWW_AUTHENTICATE, header(Type::String, "How a credential is sent: `Bearer`."))
}

/// The headers of what is kept, made or limited, which operators do not ask for.
pub(super) fn api_components(components: ComponentsBuilder) -> ComponentsBuilder {
    let text = |what| header(Type::String, what);
    components
        .header(
            RATE_LIMIT,
            text(
                "What is left of the limit, and seconds until it is whole; where there is a limit.",
            ),
        )
        .header(RATE_LIMIT_POLICY, text("How many requests the limit allows, in how many seconds."))
        .header(ETAG, text("The entity tag; a row's tells its version and when it was written."))
        .header(
            LOCATION,
            text(
                "Where what was made is, or where to go on. An address that takes no `GET` \
                 (`method_not_allowed`) is that of its other verbs: a list, or the answer itself, \
                 tells what is there.",
            ),
        )
        .header(REPLAYED, text("`true` on an answer that was given before."))
        .header(ROW_EXISTED, text("`true` where the key was taken: the row that was there."))
}

fn header(kind: Type, what: &str) -> Header {
    let schema = ObjectBuilder::new().schema_type(kind);
    HeaderBuilder::new().schema(Some(schema)).description(Some(what)).build()
}

/// The headers of an answer with these errors.
pub(super) fn of_errors(codes: &[ErrorCode]) -> &'static [&'static str] {
    if codes.iter().any(|code| code.retryable()) { &[RETRY_AFTER] } else { &[] }
}

/// The conditions of a read that has an entity tag, and what they hold.
const CONDITIONS: [(&str, &str); 2] = [
    (IF_NONE_MATCH, "An `ETag` that you have: 304 where it is still that."),
    (
        IF_MATCH,
        "An `ETag` that you have: `conflict` where it is another by now. A weak one (`W/`) matches \
         nothing.",
    ),
];

/// Adds the conditions that every read with an entity tag honours. `If-Match` is never empty.
fn add_conditions(operation: &mut Operation) {
    let parameters = operation.parameters.get_or_insert_default();
    if operation.responses.responses.contains_key("304") {
        parameters.extend(CONDITIONS.map(|(name, what)| optional_header(name, what).into()));
    }
    for parameter in parameters {
        if let RefOr::T(parameter) = parameter
            && parameter.parameter_in == ParameterIn::Header
            && parameter.name == IF_MATCH
        {
            let text = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
            parameter.schema = Some(text.into());
        }
    }
}

/// Says on the answers of an operation what each carries, and which conditions it takes. Those of the
/// public listener tell how the client stands with the rate limit.
pub(super) fn complete(operation: &mut Operation, is_limited: bool) {
    add_conditions(operation);
    let replays = operation.parameters.iter().flatten().any(|parameter| {
        matches!(parameter, RefOr::T(one)
            if one.parameter_in == ParameterIn::Header && one.name == "Idempotency-Key")
    });
    let answers = &mut operation.responses.responses;
    let is_tagged = answers.contains_key("304");
    let makes_row = matches!(answers.get("201"), Some(RefOr::T(made)) if is(made, ROW));
    for (status, answer) in answers {
        let RefOr::T(answer) = answer else { continue };
        let mut names = vec![REQUEST_ID];
        if is_limited {
            names.extend([RATE_LIMIT, RATE_LIMIT_POLICY]);
        }
        // A rehearsal makes nothing, so there is nothing to make only once.
        if status.starts_with('2') && replays && !is(answer, REHEARSAL) {
            names.push(REPLAYED);
        }
        match status.as_str() {
            "200" | "304" if is_tagged => names.push(ETAG),
            "200" | "201" if is(answer, ROW) => names.push(ETAG),
            _ => {}
        }
        match status.as_str() {
            "201" | "303" => names.push(LOCATION),
            "200" if makes_row => names.push(ROW_EXISTED),
            "401" => names.push(WWW_AUTHENTICATE),
            _ => {}
        }
        add(answer, &names);
    }
}

/// Has `answer` refer to the headers with these names.
pub(super) fn add(answer: &mut Response, names: &[&str]) {
    for name in names {
        let header = Ref::new(format!("#/components/headers/{name}"));
        answer.headers.insert((*name).to_owned(), RefOr::Ref(header));
    }
}

/// Whether an answer has the schema of this name.
fn is(answer: &Response, name: &str) -> bool {
    let wanted = Ref::from_schema_name(name).ref_location;
    answer.content.values().any(|content| {
        matches!(content, RefOr::T(Content { schema: Some(RefOr::Ref(schema)), .. })
            if schema.ref_location == wanted)
    })
}
