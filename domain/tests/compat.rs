//! The compatibility gate: every kind of break, what is none, and that removing access never is.

use std::{cell::Cell, collections::BTreeMap};

use proptest::prelude::*;
use rookery_domain::{
    ErrorCode,
    access::Subject,
    compat::{self, BreakKind, Example, Failing, LiveRows, is_implied},
    manifest::{Manifest, SchemaSource},
    schema::CompiledSchema,
};
use serde_json::{Value, json};

use crate::manifest::admitted;

/// Live rows by collection, validated for real.
#[derive(Default)]
struct Rows {
    data: BTreeMap<&'static str, Vec<Value>>,
    /// Of each collection.
    set_aside: u64,
    asked: Cell<usize>,
}

impl LiveRows for Rows {
    fn count(&self, collection: &str) -> u64 {
        self.data.get(collection).map_or(0, Vec::len) as u64
    }

    fn kept(&self, collection: &str) -> u64 {
        self.count(collection) + self.set_aside
    }

    fn failing(&self, collection: &str, schema: &SchemaSource) -> Failing {
        self.asked.set(self.asked.get() + 1);
        let schema = CompiledSchema::compile(schema).expect("an admitted schema");
        let rows = self.data.get(collection).into_iter().flatten();
        let reasons = rows
            .enumerate()
            .filter_map(|(at, row)| Some((at, schema.validate(row).err()?.violations)));
        let examples = reasons.map(|(at, reasons)| Example {
            key: format!("note-{at}").into(),
            path: reasons[0].path.clone(),
            message: reasons[0].message.clone(),
        });
        let examples: Vec<_> = examples.collect();
        Failing { rows: examples.len() as u64, examples }
    }
}

fn three_notes() -> Rows {
    let notes = vec![json!({"text": "a"}), json!({"text": "bb"}), json!({"text": "ccc", "n": 1})];
    Rows { data: BTreeMap::from([("notes", notes)]), ..Rows::default() }
}

fn base() -> Value {
    json!({
        "collections": {"notes": {
            "schema": {"$ref": "#/$defs/Note"},
            "permissions": {
                "read": ["member"], "write": ["member"], "update": ["creator"],
                "delete": ["owner"], "countRead": ["owner"]
            }
        }},
        "$defs": {"Note": {"properties": {"text": {"type": "string", "maxLength": 3}}}},
        "roles": {"judge": {}, "clerk": {}},
        "capabilities": ["camera"],
        "externalHosts": ["https://*.example.org", "https://api.example.net"],
        "embeds": ["https://player.example.net"],
        "webhooks": [{"on": "create", "collection": "notes", "url": "https://hooks.example.org/a"}]
    })
}

/// Kind, path and rows of the breaks that `change` makes to the base manifest.
fn breaks(change: impl FnOnce(&mut Value)) -> Vec<(BreakKind, String, u64)> {
    let mut changed = base();
    change(&mut changed);
    compat::breaks(&admitted(&base()), &admitted(&changed), &three_notes())
        .into_iter()
        .map(|found| (found.kind, found.path, found.rows_affected))
        .collect()
}

fn one(kind: BreakKind, path: &str, rows: u64) -> Vec<(BreakKind, String, u64)> {
    vec![(kind, path.to_owned(), rows)]
}

#[test]
fn a_removed_collection_is_a_break_even_without_rows() {
    let removed = |m: &mut Value| {
        m["collections"] = json!({});
        m["webhooks"] = json!([]);
    };
    let kind = BreakKind::CollectionRemoved;
    assert_eq!(breaks(removed), one(kind, "/collections/notes", 3));
    let mut empty = base();
    removed(&mut empty);
    let found = compat::breaks(&admitted(&base()), &admitted(&empty), &Rows::default());
    assert_eq!((found.len(), found[0].kind, found[0].rows_affected), (1, kind, 0));
}

#[test]
fn a_schema_is_tightened_when_live_rows_fail_it() {
    let max_length = |length: u64| {
        breaks(|m| m["$defs"]["Note"]["properties"]["text"]["maxLength"] = json!(length))
    };
    let path = "/collections/notes/schema";
    assert_eq!(max_length(2), one(BreakKind::SchemaTightened, path, 1));
    assert_eq!(max_length(1), one(BreakKind::SchemaTightened, path, 2));
    assert_eq!(max_length(9), []);
    let mut short = base();
    short["$defs"]["Note"]["properties"]["text"]["maxLength"] = json!(2);
    let found = compat::breaks(&admitted(&base()), &admitted(&short), &three_notes());
    let [Example { key, path: at, .. }] = &found[0].examples[..] else { panic!("{found:?}") };
    assert_eq!((&**key, &**at), ("note-2", "/text"));
    let closed = breaks(|m| m["$defs"]["Note"]["additionalProperties"] = json!(false));
    assert_eq!(closed, one(BreakKind::SchemaTightened, path, 1));
    // Narrower, but every live row fits.
    assert_eq!(breaks(|m| m["$defs"]["Note"]["required"] = json!(["text"])), []);
}

#[test]
fn rows_are_validated_only_when_the_schema_changed() {
    let old = admitted(&base());
    let rows = three_notes();
    let mut renamed = base();
    let note = renamed["$defs"]["Note"].take();
    renamed["$defs"] = json!({"Memo": note});
    renamed["collections"]["notes"]["schema"] = json!({"$ref": "#/$defs/Memo"});
    assert_eq!(compat::breaks(&old, &admitted(&renamed), &rows), []);
    let mut without = base();
    without["collections"]["notes"]["schema"] = Value::Null;
    without["collections"]["notes"].as_object_mut().expect("an object").remove("schema");
    assert_eq!(compat::breaks(&old, &admitted(&without), &rows), []);
    assert_eq!(rows.asked.get(), 0);
    let back = compat::breaks(&admitted(&without), &old, &rows);
    assert_eq!((back.len(), rows.asked.get()), (0, 1));
}

#[test]
fn append_only_is_a_break_when_added_and_not_when_kept_or_dropped() {
    let path = "/collections/notes/appendOnly";
    let added = breaks(|m| m["collections"]["notes"]["appendOnly"] = json!(true));
    assert_eq!(added, one(BreakKind::AppendOnlyAdded, path, 3));
    let mut frozen = base();
    frozen["collections"]["notes"]["appendOnly"] = json!(true);
    let frozen = admitted(&frozen);
    for after in [&frozen, &admitted(&base())] {
        assert_eq!(compat::breaks(&frozen, after, &three_notes()), []);
    }
}

#[test]
fn a_list_that_gains_a_subject_widens_disclosure() {
    let list = |name: &str, subjects: Value| {
        breaks(|m| m["collections"]["notes"]["permissions"][name] = subjects.clone())
    };
    let widened = |name: &str, rows: u64| {
        one(BreakKind::DisclosureWidened, &format!("/collections/notes/permissions/{name}"), rows)
    };
    assert_eq!(list("read", json!(["anyone"])), widened("read", 3));
    assert_eq!(list("read", json!(["member", "creator"])), widened("read", 3));
    assert_eq!(list("read", json!(["member", "judge"])), widened("read", 3));
    assert_eq!(list("write", json!(["anyone"])), widened("write", 0));
    assert_eq!(list("update", json!(["creator", "owner"])), widened("update", 3));
    assert_eq!(list("update", json!(["author"])), widened("update", 3));
    assert_eq!(list("delete", json!(["member"])), widened("delete", 3));
    assert_eq!(list("countRead", json!(["anyone"])), widened("countRead", 3));
    assert_eq!(list("read", json!(["judge", "clerk"])).len(), 2);
    for narrowed in [json!([]), json!(["owner"]), json!(["owner", "member"])] {
        assert_eq!(list("read", narrowed), []);
    }
    assert_eq!(list("update", json!(["judge:creator"])), []);
    // Left out, update inherits write, which lets members in.
    let inherited = breaks(|m| {
        let lists = m["collections"]["notes"]["permissions"].as_object_mut();
        lists.expect("an object").remove("update");
    });
    assert_eq!(inherited, widened("update", 3));
}

#[test]
fn subjects_imply_what_they_include_and_nothing_else() {
    let judge = || "judge".into();
    let clerk = || "clerk".into();
    let [editor, author] = [false, true].map(|legacy_author| Subject::Editor { legacy_author });
    for (old, new, implied) in [
        (vec![Subject::Anyone], Subject::Role(judge()), true),
        (vec![Subject::Anyone], Subject::Creator, true),
        (vec![Subject::Anyone], Subject::Anyone, true),
        (vec![Subject::Member], Subject::Owner, true),
        (vec![Subject::Member], Subject::Role(judge()), false),
        (vec![Subject::Member], Subject::Creator, false),
        (vec![Subject::Member], Subject::Anyone, false),
        (vec![Subject::Owner], Subject::Member, false),
        (vec![Subject::Owner], Subject::Creator, false),
        (vec![Subject::Owner], Subject::Role(judge()), false),
        (vec![editor.clone()], author.clone(), true),
        (vec![author.clone()], editor.clone(), true),
        (vec![editor.clone()], Subject::Creator, false),
        (vec![Subject::Creator], editor.clone(), false),
        (vec![Subject::Role(judge())], Subject::RoleOwn(judge()), true),
        (vec![Subject::Role(judge())], Subject::RoleCreator(judge()), true),
        (vec![Subject::Role(judge())], Subject::RoleOwn(clerk()), false),
        (vec![Subject::Role(judge())], Subject::Role(clerk()), false),
        (vec![Subject::RoleOwn(judge())], Subject::RoleCreator(judge()), true),
        (vec![Subject::RoleCreator(judge())], Subject::RoleOwn(judge()), false),
        (
            vec![Subject::Role(clerk()), Subject::RoleOwn(clerk())],
            Subject::RoleCreator(judge()),
            false,
        ),
        (vec![Subject::RoleCreator(clerk())], Subject::RoleCreator(judge()), false),
        (vec![Subject::RoleOwn(judge())], Subject::Role(judge()), false),
        (vec![Subject::RoleOwn(judge())], Subject::Creator, false),
        (vec![Subject::Creator], Subject::RoleCreator(judge()), true),
        (vec![Subject::Creator], Subject::RoleOwn(judge()), false),
        (vec![Subject::Creator, editor.clone()], Subject::RoleOwn(judge()), true),
        (vec![Subject::RoleCreator(judge()), editor.clone()], Subject::RoleOwn(judge()), true),
        (vec![Subject::RoleCreator(clerk()), editor], Subject::RoleOwn(judge()), false),
        (vec![], Subject::Owner, false),
    ] {
        assert_eq!(is_implied(&old, &new), implied, "{old:?} {new:?}");
    }
}

#[test]
fn whatever_the_page_reaches_anew_widens_disclosure() {
    let widened = |path: &str| one(BreakKind::DisclosureWidened, path, 0);
    let added = breaks(|m| m["capabilities"] = json!(["microphone", "camera"]));
    assert_eq!(added, widened("/capabilities/0"));
    assert_eq!(breaks(|m| m["cdn"] = json!(true)), widened("/cdn"));
    let hosts = |list: Value| breaks(|m| m["externalHosts"] = list);
    assert_eq!(hosts(json!(["https://other.example.net"])), widened("/externalHosts/0"));
    assert_eq!(hosts(json!(["https://*.example.net"])), widened("/externalHosts/0"));
    assert_eq!(hosts(json!(["https://example.org"])), widened("/externalHosts/0"));
    assert_eq!(hosts(json!(["https://a.example.org", "https://*.b.example.org"])), []);
    assert_eq!(
        breaks(|m| m["embeds"] = json!(["https://player.example.net", "https://a.example.org"])),
        widened("/embeds/1")
    );
    let target = |url: &str| breaks(|m| m["webhooks"][0]["url"] = json!(url));
    assert_eq!(target("https://evil.example.org/a"), widened("/webhooks/0/url"));
    assert_eq!(target("https://hooks.example.org/b"), widened("/webhooks/0/url"));
    assert_eq!(target("https://HOOKS.example.org/a"), []);
}

#[test]
fn a_collection_whose_rows_begin_to_be_sent_where_others_go_is_a_break() {
    let mut old = base();
    let owner = json!(["owner"]);
    old["collections"]["hidden"] = json!({"permissions": {
        "read": owner, "write": owner, "update": owner, "delete": owner
    }});
    let sent = |name: &str| {
        let mut new = old.clone();
        if name == "new" {
            new["collections"][name] = old["collections"]["hidden"].clone();
        }
        let rule =
            json!({"on": "create", "collection": name, "url": "https://hooks.example.org/a"});
        new["webhooks"].as_array_mut().expect("rules").push(rule);
        let found = compat::breaks(&admitted(&old), &admitted(&new), &three_notes());
        found
            .into_iter()
            .map(|found| (found.kind, found.path, found.rows_affected))
            .collect::<Vec<_>>()
    };
    assert_eq!(sent("hidden"), one(BreakKind::DisclosureWidened, "/webhooks/1/collection", 0));
    assert_eq!(sent("new"), [], "it has no rows yet");
    assert_eq!(sent("notes"), [], "they go there already");
}

#[test]
fn taking_away_and_adding_collections_is_compatible() {
    for change in [
        |m: &mut Value| m["capabilities"] = json!([]),
        |m: &mut Value| m["externalHosts"] = json!([]),
        |m: &mut Value| m["embeds"] = json!([]),
        |m: &mut Value| m["webhooks"] = json!([]),
        |m: &mut Value| m["roles"] = json!({}),
        |m: &mut Value| m["visibility"] = json!("public"),
        |m: &mut Value| {
            m["collections"]["new"] = json!({"permissions": {
                "read": ["anyone"], "write": ["anyone"], "update": ["anyone"], "delete": ["anyone"]
            }});
        },
    ] {
        assert_eq!(breaks(change), []);
    }
}

#[test]
fn the_refusal_lists_every_break_and_shows_no_webhook_secret() {
    let mut changed = base();
    changed["cdn"] = json!(true);
    changed["webhooks"][0]["url"] = json!("https://new.example.org/in/canary-7d2");
    let found = compat::breaks(&admitted(&base()), &admitted(&changed), &three_notes());
    let error = compat::refusal(&found);
    assert_eq!(error.code, ErrorCode::ManifestIncompatibleRedeploy);
    assert!(error.message.ends_with(" and 1 more"), "{error}");
    assert!(!compat::refusal(&found[..1]).message.contains("more"));
    let details = error.details.as_deref().expect("details");
    assert_eq!(details["breaks"].as_array().map(Vec::len), Some(2));
    assert_eq!(details["breaks"][0]["kind"], "disclosure_widened");
    assert_eq!(details["breaks"][0]["rows_affected"], 0);
    assert!(details["breaks"][0].get("collection").is_none());
    assert!(!format!("{error} {details}").contains("canary"));
}

const SUBJECTS: [&str; 9] = [
    "owner",
    "member",
    "anyone",
    "judge",
    "clerk",
    "creator",
    "editor",
    "judge:own",
    "clerk:creator",
];

fn manifest_of(read: &[&str], delete: &[&str], capabilities: &[&str], cdn: bool) -> Manifest {
    let mut manifest = base();
    manifest["collections"]["notes"]["permissions"]["read"] = json!(read);
    manifest["collections"]["notes"]["permissions"]["delete"] = json!(delete);
    manifest["capabilities"] = json!(capabilities);
    manifest["cdn"] = json!(cdn);
    admitted(&manifest)
}

fn subjects() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(&SUBJECTS[..], 1..=SUBJECTS.len())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_manifest_is_compatible_with_itself(read in subjects(), delete in subjects(), cdn: bool) {
        let manifest = manifest_of(&read, &delete, &["camera"], cdn);
        prop_assert_eq!(compat::breaks(&manifest, &manifest, &three_notes()), []);
    }

    #[test]
    fn removing_access_never_breaks(
        (read, fewer_read) in subjects().prop_flat_map(|all| {
            let some = prop::sample::subsequence(all.clone(), 0..=all.len());
            (Just(all), some)
        }),
        (delete, fewer_delete) in subjects().prop_flat_map(|all| {
            let some = prop::sample::subsequence(all.clone(), 1..=all.len());
            (Just(all), some)
        }),
        cdn: bool,
    ) {
        let old = manifest_of(&read, &delete, &["camera", "microphone"], true);
        let new = manifest_of(&fewer_read, &fewer_delete, &["microphone"], cdn);
        prop_assert_eq!(compat::breaks(&old, &new, &three_notes()), []);
    }
}
