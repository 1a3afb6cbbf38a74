//! Answers with the same error, or the same two, are the same on every operation that has them: the
//! document holds each once, and refers to it by the errors' names.

use std::collections::BTreeMap;

use rookery_domain::ErrorCode;
use utoipa::openapi::{OpenApi, Ref, RefOr, Response};

use super::operation::operations;

/// Has every answer with one error be the one of `components.responses`.
pub(super) fn share(document: &mut OpenApi) {
    let names: BTreeMap<_, _> =
        ErrorCode::ALL.iter().map(|code| (code.as_str(), pascal(code.as_str()))).collect();
    let mut shared = BTreeMap::<String, RefOr<Response>>::new();
    for (_, operation) in document.paths.paths.values_mut().flat_map(operations) {
        for answer in operation.responses.responses.values_mut() {
            let RefOr::T(response) = answer else { continue };
            let codes = response.description.trim_matches('`').split("`, `");
            let known: Option<Vec<_>> = codes.map(|code| Some(names.get(code)?.as_str())).collect();
            // More names than two are longer than what they would stand for.
            let Some(known) = known.filter(|known| known.len() <= 2) else { continue };
            let name = known.join("Or");
            let first = shared.entry(name.clone()).or_insert_with(|| answer.clone());
            if first == answer {
                *answer = Ref::from_response_name(&name).into();
            }
        }
    }
    document.components.get_or_insert_default().responses.append(&mut shared);
}

/// `rate_limited` as `RateLimited`.
fn pascal(code: &str) -> String {
    let words = code.split('_').map(|word| {
        let (first, rest) = word.split_at(1.min(word.len()));
        first.to_uppercase() + rest
    });
    words.collect()
}
