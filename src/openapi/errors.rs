//! Answers with one error are the same on every operation that has it: the document holds each once,
//! and refers to it by the error's name.

use std::collections::BTreeMap;

use rookery_domain::ErrorCode;
use utoipa::openapi::{OpenApi, Ref, RefOr, Response};

use super::operation::operations;

/// Has every answer with one error be the one of `components.responses`.
pub(super) fn share(document: &mut OpenApi) {
    let names: BTreeMap<_, _> =
        ErrorCode::ALL.iter().map(|code| (format!("`{code}`"), pascal(code.as_str()))).collect();
    let mut shared = BTreeMap::<String, RefOr<Response>>::new();
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        for answer in operation.responses.responses.values_mut() {
            let RefOr::T(response) = answer else { continue };
            let Some(name) = names.get(&response.description) else { continue };
            let first = shared.entry(name.clone()).or_insert_with(|| answer.clone());
            if first == answer {
                *answer = Ref::from_response_name(name).into();
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
