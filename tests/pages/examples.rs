//! The examples pass the rules that a deploy applies.

use std::{fs, path::Path};

use rookery::pages::{
    document::{extract_embedded_manifest, serve},
    policy::PagePolicy,
};
use rookery_domain::{
    limits::Limits,
    manifest::{Manifest, ParseContext, Visibility, parse},
};

fn example(name: &str) -> (String, Manifest) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name);
    let html = fs::read_to_string(folder.join("index.html")).unwrap();
    let text = fs::read_to_string(folder.join("manifest.json")).unwrap();
    let value = serde_json::from_str(&text).unwrap();
    let limits = Limits::default();
    let manifest = parse(&value, text.len(), &limits, &ParseContext::default()).unwrap();
    (html, manifest)
}

#[test]
fn every_example_is_deployable_and_reaches_nothing_outside() {
    for name in ["guestbook", "board"] {
        let (html, manifest) = example(name);
        assert_eq!(manifest.visibility, Some(Visibility::Public), "{name}");
        assert!(manifest.inactive.is_empty(), "{name}");
        assert_eq!(extract_embedded_manifest(&html).unwrap(), None, "{name}");
        assert_eq!(serve(&html, "/s/sdk.js").unwrap().html.matches("/s/sdk.js").count(), 1);
        let csp = PagePolicy::of_manifest(&manifest).content_security_policy();
        assert!(!csp.contains("http"), "{csp}");
    }
}

#[test]
fn the_board_uses_a_role_unique_fields_and_an_append_only_collection() {
    let (_, manifest) = example("board");
    assert!(manifest.roles.contains_key("moderator"));
    assert!(manifest.collections["decisions"].append_only);
    assert_eq!(manifest.collections["ideas"].unique, ["title".into()]);
    assert!(manifest.collections["votes"].permissions.update.is_empty());
}
