//! The keywords of JSON Schema draft 2020-12, and what each holds: who walks a schema knows by them
//! which members are schemas and which are data.

/// What the value of a keyword is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// A schema.
    Schema,
    /// Schemas by names that the author chose.
    Named,
    /// A list of schemas.
    Listed,
    /// Any data of the author's.
    AnyData,
    /// A value of the keyword's own.
    Value,
}

/// Every keyword of the draft's vocabularies, and those of older drafts that it still knows.
const KEYWORDS: &[(&str, Holds)] = &[
    ("$anchor", Holds::Value),
    ("$comment", Holds::Value),
    ("$defs", Holds::Named),
    ("$dynamicAnchor", Holds::Value),
    ("$dynamicRef", Holds::Value),
    ("$id", Holds::Value),
    ("$recursiveAnchor", Holds::Value),
    ("$recursiveRef", Holds::Value),
    ("$ref", Holds::Value),
    ("$schema", Holds::Value),
    ("$vocabulary", Holds::Value),
    ("additionalProperties", Holds::Schema),
    ("allOf", Holds::Listed),
    ("anyOf", Holds::Listed),
    ("const", Holds::AnyData),
    ("contains", Holds::Schema),
    ("contentEncoding", Holds::Value),
    ("contentMediaType", Holds::Value),
    ("contentSchema", Holds::Schema),
    ("default", Holds::AnyData),
    ("definitions", Holds::Named),
    ("dependencies", Holds::Named),
    ("dependentRequired", Holds::AnyData),
    ("dependentSchemas", Holds::Named),
    ("deprecated", Holds::Value),
    ("description", Holds::Value),
    ("else", Holds::Schema),
    ("enum", Holds::AnyData),
    ("examples", Holds::AnyData),
    ("exclusiveMaximum", Holds::Value),
    ("exclusiveMinimum", Holds::Value),
    ("format", Holds::Value),
    ("if", Holds::Schema),
    ("items", Holds::Schema),
    ("maxContains", Holds::Value),
    ("maximum", Holds::Value),
    ("maxItems", Holds::Value),
    ("maxLength", Holds::Value),
    ("maxProperties", Holds::Value),
    ("minContains", Holds::Value),
    ("minimum", Holds::Value),
    ("minItems", Holds::Value),
    ("minLength", Holds::Value),
    ("minProperties", Holds::Value),
    ("multipleOf", Holds::Value),
    ("not", Holds::Schema),
    ("oneOf", Holds::Listed),
    ("pattern", Holds::Value),
    ("patternProperties", Holds::Named),
    ("prefixItems", Holds::Listed),
    ("properties", Holds::Named),
    ("propertyNames", Holds::Schema),
    ("readOnly", Holds::Value),
    ("required", Holds::Value),
    ("then", Holds::Schema),
    ("title", Holds::Value),
    ("type", Holds::Value),
    ("unevaluatedItems", Holds::Schema),
    ("unevaluatedProperties", Holds::Schema),
    ("uniqueItems", Holds::Value),
    ("writeOnly", Holds::Value),
];

/// What `keyword` holds; `None` for one that the draft does not know.
pub(super) fn holds(keyword: &str) -> Option<Holds> {
    KEYWORDS.iter().find(|(known, _)| *known == keyword).map(|(_, holds)| *holds)
}

/// The keyword that the author of `unknown` may have meant.
pub(super) fn meant(unknown: &str) -> Option<&'static str> {
    let plain = |word: &str| -> Vec<u8> {
        word.bytes().filter(u8::is_ascii_alphanumeric).map(|b| b.to_ascii_lowercase()).collect()
    };
    let written = plain(unknown);
    let near = KEYWORDS.iter().map(|(known, _)| (edits(&plain(known), &written), *known));
    near.filter(|(edits, _)| *edits <= EDITS_MAX).min().map(|(_, known)| known)
}

/// Letters that a misspelt keyword has wrong, at most.
const EDITS_MAX: usize = 2;
/// Letters of a text that is compared with keywords; no longer one is near any.
const LETTERS_MAX: usize = 32;

/// How many letters are to be added, removed or replaced to make one word the other.
fn edits(a: &[u8], b: &[u8]) -> usize {
    if a.len().abs_diff(b.len()) > EDITS_MAX || b.len() > LETTERS_MAX {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (at, letter) in a.iter().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (to, other) in b.iter().enumerate() {
            let replaced = before + usize::from(letter != other);
            before = row[to + 1];
            row[to + 1] = replaced.min(before + 1).min(row[to] + 1);
        }
    }
    row[b.len()]
}
