//! The manifest: each rule of part 2.2 with what it admits and what it refuses, by code and
//! pointer. One module per rule area; the table's machinery is here.

mod collections;
mod hosts;
mod permissions;
pub(crate) mod properties;
mod rules;
mod schemas;
mod shape;

use rookery_domain::{
    Error, Result,
    limits::Limits,
    manifest::{self, Manifest, ParseContext},
};
use serde_json::{Value, json};

/// Parses with the default limits, for the app `guestbook.example.com`, private by default.
pub(crate) fn parse(manifest: &Value) -> Result<Manifest> {
    let context = ParseContext { own_hosts: &["guestbook.example.com"], visibility: None };
    manifest::parse(manifest, manifest.to_string().len(), &Limits::default(), &context)
}

pub(crate) fn admitted(manifest: &Value) -> Manifest {
    parse(manifest).unwrap_or_else(|error| panic!("{manifest}: {error}"))
}

/// The smallest collection there is, with `member` set to `value`; a `null` takes it out.
pub(crate) fn collection(member: &str, value: Value) -> Value {
    let mut collection = json!({
        "permissions": {"read": ["anyone"], "write": ["member"], "delete": ["owner"]}
    });
    collection[member] = value;
    collection
}

fn pointer_of(error: &Error) -> String {
    let details = error.details.as_deref().expect("details");
    let path = details["path"].as_str().expect("details.path");
    let violations = details["violations"].as_array().expect("details.violations");
    assert_eq!(violations[0]["path"], path, "the first violation is the one that is named");
    for violation in violations {
        assert!(violation["path"].is_string() && violation["message"].is_string());
    }
    path.to_owned()
}

/// Asserts that `manifest` is refused with `code`, first of all at `pointer`. An app that was deployed
/// with it before there was the rule lives on: it is read back, with all its collections.
pub(crate) fn assert_refused(manifest: &Value, code: &str, pointer: &str) {
    match parse(manifest) {
        Ok(_) => panic!("admitted, not {code} at {pointer:?}: {manifest}"),
        Err(error) => {
            assert_eq!(
                (error.code.as_str(), pointer_of(&error).as_str()),
                (code, pointer),
                "{error} for {manifest}"
            );
        }
    }
    if manifest.is_object() {
        let read = manifest::reload(manifest).expect("it is an object");
        let declared = manifest["collections"].as_object().into_iter().flatten();
        let declared = declared.filter(|(_, value)| value.is_object()).map(|(name, _)| &**name);
        assert!(read.collections.keys().map(|name| &**name).eq(declared), "{manifest}");
    }
}
