//! notify, schedules, webhooks, ingest and agentTasks: each good form, and each bad one by
//! pointer.

use rookery_domain::{
    limits::Limits,
    manifest::{
        self, Manifest, ParseContext, Visibility,
        rules::{Channel, Comparison, IngestMode, NotifyTarget, ScheduleTarget, Trigger},
    },
};
use serde_json::{Value, json};

use super::{admitted, assert_refused, collection, parse};

/// A manifest with one rule: `rule` with the members of `change`, a `null` taking one out.
fn with(area: &str, rule: &Value, change: &Value) -> Value {
    let mut rule = rule.clone();
    if let (Some(rule), Some(change)) = (rule.as_object_mut(), change.as_object()) {
        for (member, value) in change {
            rule.insert(member.clone(), value.clone());
        }
        rule.retain(|_, value| !value.is_null());
    }
    let mut orders = collection("unique", json!(["number"]));
    orders["relations"] = json!({"customer": {"collection": "customers"}});
    orders["schema"] = json!({"$ref": "#/$defs/Order"});
    json!({
        "collections": {"orders": orders, "customers": collection("unique", json!([]))},
        "$defs": {"Order": {
            "properties": {"number": true, "customer": true, "due": true, "state": true,
                "total": {"type": "number"}},
            "additionalProperties": false
        }},
        "roles": {"clerk": {}},
        area: [rule],
    })
}

fn check(area: &str, code: &str, rule: &Value, bad: &[(Value, &str)], good: &[Value]) {
    admitted(&with(area, rule, &json!({})));
    for change in good {
        let manifest = admitted(&with(area, rule, change));
        assert_eq!(manifest.inactive, [format!("/{area}/0")], "{change}");
    }
    for (change, below) in bad {
        assert_refused(&with(area, rule, change), code, &format!("/{area}/0{below}"));
    }
    for other in [json!("rule"), json!(null), json!([])] {
        let mut manifest = with(area, rule, &json!({}));
        manifest[area] = json!([rule, other]);
        assert_refused(&manifest, code, &format!("/{area}/1"));
    }
}

fn notify() -> Value {
    json!({
        "on": "create", "collection": "orders", "to": ["owner"], "channels": ["email"],
        "subject": "New order", "body": "An order came in."
    })
}

#[test]
fn notify_rules() {
    check(
        "notify",
        "notify_invalid",
        &notify(),
        &[
            (json!({"on": null}), "/on"),
            (json!({"on": "delete"}), "/on"),
            (json!({"on": ["create"]}), "/on"),
            (json!({"collection": null}), "/collection"),
            (json!({"collection": "nope"}), "/collection"),
            (json!({"to": null}), "/to"),
            (json!({"to": []}), "/to"),
            (json!({"to": "owner"}), "/to"),
            (json!({"to": ["owner", "anyone"]}), "/to/1"),
            (json!({"to": ["role:nope"]}), "/to/0"),
            (json!({"to": ["role:"]}), "/to/0"),
            (json!({"to": ["field:number"]}), "/to/0"),
            (json!({"to": [1]}), "/to/0"),
            (json!({"channels": []}), "/channels"),
            (json!({"channels": ["sms"]}), "/channels/0"),
            (json!({"channels": ["email", "email"]}), "/channels/1"),
            (json!({"to": ["owner", "members", "owner"]}), "/to/2"),
            (json!({"to": ["role:clerk", "role:clerk"]}), "/to/1"),
            (json!({"subject": null}), "/subject"),
            (json!({"subject": " "}), "/subject"),
            (json!({"subject": "a\r\nBcc: x@example.org"}), "/subject"),
            (json!({"subject": "x".repeat(201)}), "/subject"),
            (json!({"body": 1}), "/body"),
            (json!({"when": {"field": "state", "op": "eq", "value": 1}}), "/when"),
            (json!({"unknown": 1}), "/unknown"),
        ],
        &[
            json!({"on": "update", "to": ["owner", "members", "author", "creator"]}),
            json!({"to": ["role:clerk", "field:customer"]}),
            json!({"channels": null}),
        ],
    );
    let parsed = admitted(&with("notify", &notify(), &json!({"to": ["field:customer"]})));
    let rule = &parsed.rules.as_ref().expect("rules").notify[0];
    assert_eq!(rule.on, Trigger::Create);
    assert_eq!(*rule.to, [NotifyTarget::Field("customer".into())]);
    assert_eq!(*rule.channels, [Channel::Email]);
}

#[test]
fn channels_and_submitter_have_codes_of_their_own() {
    let refused = |change: Value, code: &str, below: &str| {
        let manifest = with("notify", &notify(), &change);
        assert_refused(&manifest, code, &format!("/notify/0{below}"));
    };
    refused(json!({"channels": ["inapp"]}), "notify_channel_not_enabled", "/channels/0");
    refused(json!({"channels": ["email", "push"]}), "notify_push_requires_public", "/channels/1");
    refused(json!({"to": ["submitter"]}), "notify_submitter_not_enabled", "/to/0");
    // A malformed rule comes first.
    refused(json!({"channels": ["inapp"], "on": 1}), "notify_invalid", "/on");

    let mut push = with("notify", &notify(), &json!({"channels": ["push"]}));
    let by_request = |manifest: &Value, visibility, external| {
        let limits = Limits { notify_external_enabled: external, ..Limits::default() };
        let context = ParseContext { own_hosts: &[], visibility };
        manifest::parse(manifest, 1, &limits, &context).map(drop).map_err(|e| e.code.as_str())
    };
    let requires_public = Err("notify_push_requires_public");
    assert_eq!(by_request(&push, Some(Visibility::Public), false), Ok(()));
    assert_eq!(by_request(&push, Some(Visibility::Link), false), requires_public);
    push["visibility"] = json!("private");
    assert_eq!(by_request(&push, Some(Visibility::Public), false), requires_public);
    push["visibility"] = json!("public");
    assert_eq!(by_request(&push, None, false), Ok(()));
    let submitter = with("notify", &notify(), &json!({"to": ["submitter"]}));
    assert_eq!(by_request(&submitter, None, true), Ok(()));
}

#[test]
fn a_date_field_is_one_that_the_schema_names_where_it_names_any() {
    let rule = json!({
        "collection": "orders", "dateField": "when", "offsetDays": 0, "to": ["owner"],
        "subject": "Due", "body": "Today."
    });
    let manifest = |order: Value| {
        let mut manifest = with("schedules", &rule, &json!({}));
        manifest["$defs"]["Order"] = order;
        manifest
    };
    let named = json!({"due": {"type": "string"}});
    let typed = |kinds: &[&str]| json!({"properties": {"when": {"type": kinds}}});
    for open in [
        json!({}),
        json!({"properties": named, "patternProperties": {"^w": true}}),
        typed(&["null", "string"]),
    ] {
        admitted(&manifest(open));
    }
    let one = |field: Value| json!({"properties": {"when": field}});
    admitted(&manifest(one(json!({"enum": [null, "2026-05-01"]}))));
    for no_text in [
        json!({"properties": named}),
        typed(&["null", "integer"]),
        one(json!({"enum": [1, 2]})),
        one(json!({"type": ["string", "null"], "enum": [null]})),
        one(json!({"const": 20_260_501})),
        one(json!(false)),
    ] {
        assert_refused(&manifest(no_text), "schedule_invalid", "/schedules/0/dateField");
    }
}

#[test]
fn schedule_rules() {
    let rule = json!({
        "collection": "orders", "dateField": "due", "offsetDays": -1, "to": ["owner", "members"],
        "subject": "Due", "body": "Tomorrow."
    });
    check(
        "schedules",
        "schedule_invalid",
        &rule,
        &[
            (json!({"collection": "nope"}), "/collection"),
            (json!({"dateField": null}), "/dateField"),
            (json!({"dateField": "when"}), "/dateField"),
            (json!({"dateField": "total"}), "/dateField"),
            (json!({"dateField": 1}), "/dateField"),
            (json!({"offsetDays": null}), "/offsetDays"),
            (json!({"offsetDays": 1.5}), "/offsetDays"),
            (json!({"offsetDays": "1"}), "/offsetDays"),
            (json!({"offsetDays": 3_651}), "/offsetDays"),
            (json!({"offsetDays": i64::MIN}), "/offsetDays"),
            (json!({"to": []}), "/to"),
            (json!({"to": ["author"]}), "/to/0"),
            (json!({"to": ["members", "members"]}), "/to/1"),
            (json!({"subject": null}), "/subject"),
            (json!({"body": null}), "/body"),
            (json!({"on": "create"}), "/on"),
            (
                json!({"when": {"field": "state", "op": "eq", "value": 1, "edge": true}}),
                "/when/edge",
            ),
        ],
        &[
            json!({"offsetDays": 0}),
            json!({"offsetDays": -3_650}),
            json!({"offsetDays": 30, "to": ["members"]}),
            json!({"when": {"field": "state", "op": "ne", "value": "paid", "edge": false}}),
        ],
    );
    let parsed = admitted(&with("schedules", &rule, &json!({})));
    let rule = &parsed.rules.as_ref().expect("rules").schedules[0];
    assert_eq!((rule.offset_days, &*rule.date_field), (-1, "due"));
    assert_eq!(*rule.to, [ScheduleTarget::Owner, ScheduleTarget::Members]);
}

#[test]
fn a_rule_that_was_admitted_with_a_target_twice_goes_on_and_tells_it_once() {
    let twice = json!({"to": ["owner", "members", "owner"]});
    let schedule = json!({
        "collection": "orders", "dateField": "due", "offsetDays": 0, "to": [],
        "subject": "Due", "body": "Today."
    });
    let mut stored = with("notify", &notify(), &twice);
    stored["schedules"] = with("schedules", &schedule, &twice)["schedules"].clone();
    let read = manifest::reload(&stored).expect("it was admitted once");
    let rules = read.rules.expect("rules");
    assert_eq!(*rules.notify[0].to, [NotifyTarget::Owner, NotifyTarget::Members]);
    assert_eq!(*rules.schedules[0].to, [ScheduleTarget::Owner, ScheduleTarget::Members]);
    assert_eq!(read.refused, None);
}

fn webhook() -> Value {
    json!({"on": "update", "collection": "orders", "url": "https://hooks.example.org/in?k=1"})
}

#[test]
fn webhook_rules() {
    let mut bad = vec![
        (json!({"on": "upsert"}), "/on"),
        (json!({"collection": null}), "/collection"),
        (json!({"url": null}), "/url"),
        (json!({"url": 1}), "/url"),
        (json!({"method": "PUT"}), "/method"),
    ];
    for url in [
        "",
        "hooks.example.org/in",
        "http://hooks.example.org/in",
        "https:hooks.example.org",
        "https:/hooks.example.org",
        "https://user@hooks.example.org/",
        "https://:pw@hooks.example.org/",
        "https://@hooks.example.org/",
        "https:///user:pw@hooks.example.org/",
        "https://///@hooks.example.org/",
        "https://127.0.0.1/in",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://%31%32%37.0.0.1/",
        "https://１２７.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/in",
        "https://localhost/in",
        "https://api.localhost/in",
        "https://printer.local/in",
        "https://metadata.google.internal/",
        "https://intranet/",
        "https://x.intranet/",
        "https://x.test/",
        "https://x.lan/",
        "https://x.onion/",
        "https://1.0.0.127.in-addr.arpa/",
        "https://hooks.example.org./",
        "https://*.example.org/",
        "https://hooks.example.org:0/",
        "https://hooks.example.org/#x",
        "https://hooks.example.org\\@evil.org/",
        "https://hooks.example.org\\in",
        "https://hooks.example.org/\u{7f}",
        "https://hooks.example.org/a b",
        "https://hooks.example.org/\n",
        "https://",
    ] {
        bad.push((json!({"url": url}), "/url"));
    }
    bad.push((json!({"url": format!("https://hooks.example.org/{}", "a".repeat(2_048))}), "/url"));
    check(
        "webhooks",
        "webhook_invalid",
        &webhook(),
        &bad,
        &[
            json!({"url": "https://hooks.example.org"}),
            json!({"url": "https://hooks.example.org:8443/in"}),
            json!({"on": "create"}),
            json!({"when": {"field": "state", "op": "in", "value": ["a"], "edge": true}}),
        ],
    );
    let message_of = |url: &str| {
        let refused = parse(&with("webhooks", &webhook(), &json!({"url": url})));
        refused.err().map(|error| error.message).unwrap_or_default()
    };
    assert_eq!(
        message_of("http://hooks.example.org/secret?token=secret"),
        "/webhooks/0/url: \"http://hooks.example.org\": must start with https://"
    );
    for (url, shown) in [
        ("https://localhost/secret", "\"https://localhost\": "),
        ("https://10.0.0.1\\secret", "\"https://10.0.0.1\": "),
        ("https://hooks.example.org/a secret", "\"https://hooks.example.org\": "),
        ("hooks.example.org/secret", "\"hooks.example.org\": "),
        ("https://user:se/secret@hooks.example.org/", ""),
        ("/secret", ""),
    ] {
        let message = message_of(url);
        assert!(message.starts_with(&format!("/webhooks/0/url: {shown}")), "{message}");
        assert!(!message.contains("secret") && !message.contains("user:"), "{message}");
    }
    // One that was admitted before a name was reserved still is.
    let old = with("webhooks", &webhook(), &json!({"url": "https://x.test/"}));
    let urls = |parsed: &manifest::Manifest| -> Vec<String> {
        parsed.webhook_targets.iter().map(|target| target.url.to_string()).collect()
    };
    assert_eq!(urls(&manifest::reload(&old).expect("a manifest")), ["https://x.test/"]);
    let parsed =
        admitted(&with("webhooks", &webhook(), &json!({"url": "HTTPS://Hooks.Example.org"})));
    assert_eq!(urls(&parsed), ["https://hooks.example.org/"]);
}

#[test]
fn conditions() {
    let condition = |when: Value| with("webhooks", &webhook(), &json!({"when": when}));
    for (when, below) in [
        (json!("state"), ""),
        (json!({}), "/field"),
        (json!({"field": "state"}), "/op"),
        (json!({"field": "state", "op": "like", "value": 1}), "/op"),
        (json!({"field": "state", "op": "eq"}), "/value"),
        (json!({"field": "state", "op": "in", "value": "a"}), "/value"),
        (json!({"field": "state", "op": "in", "value": []}), "/value"),
        (json!({"field": "state", "op": "gt", "value": true}), "/value"),
        (json!({"field": "state", "op": "exists", "value": 1}), "/value"),
        (json!({"field": "", "op": "exists"}), "/field"),
        (json!({"field": "a..b", "op": "exists"}), "/field"),
        (json!({"field": "nope", "op": "exists"}), "/field"),
        (json!({"field": "state.\u{7}", "op": "exists"}), "/field"),
        (json!({"field": format!("state{}", ".a".repeat(16)), "op": "exists"}), "/field"),
        (json!({"field": "state", "op": "exists", "edge": 1}), "/edge"),
        (json!({"field": "state", "op": "exists", "not": true}), "/not"),
    ] {
        assert_refused(&condition(when), "webhook_invalid", &format!("/webhooks/0/when{below}"));
    }
    for when in [
        json!({"field": "state", "op": "exists"}),
        json!({"field": "state", "op": "exists", "value": false}),
        json!({"field": "state.of.mind", "op": "eq", "value": null}),
        json!({"field": format!("state{}", ".a".repeat(15)), "op": "exists"}),
        json!({"field": "number", "op": "gte", "value": 3}),
        json!({"field": "due", "op": "lt", "value": "2030-01-01"}),
    ] {
        admitted(&condition(when));
    }
    let parsed = admitted(&condition(json!({"field": "number", "op": "lte", "value": 3})));
    let when = parsed.rules.as_ref().expect("rules").webhooks[0].when.clone().expect("when");
    assert_eq!((when.op, when.value, when.edge), (Comparison::Lte, Some(json!(3)), false));
}

#[test]
fn ingest_rules() {
    let rule = json!({
        "name": "shop", "collection": "orders", "mode": "upsert", "upsertOn": "number",
        "map": {"number": "order.id", "state": "status"}, "dedupeKey": "event.id",
        "handshake": "echo", "wake": true, "verify": true
    });
    check(
        "ingest",
        "ingest_invalid",
        &rule,
        &[
            (json!({"name": null}), "/name"),
            (json!({"name": "Shop"}), "/name"),
            (json!({"name": "-shop"}), "/name"),
            (json!({"name": "sHop"}), "/name"),
            (json!({"name": "a shop"}), "/name"),
            (json!({"name": "a".repeat(65)}), "/name"),
            (json!({"collection": "nope"}), "/collection"),
            (json!({"mode": null}), "/mode"),
            (json!({"mode": "replace"}), "/mode"),
            (json!({"upsertOn": null}), "/upsertOn"),
            (json!({"upsertOn": "state"}), "/upsertOn"),
            (json!({"mode": "append"}), "/upsertOn"),
            (json!({"map": null}), "/map"),
            (json!({"map": {}}), "/map"),
            (json!({"map": ["a"]}), "/map"),
            (json!({"map": {"number": 1}}), "/map/number"),
            (json!({"map": {"number": "a..b"}}), "/map/number"),
            (json!({"map": {"number": format!("{0}.{0}", "a".repeat(128))}}), "/map/number"),
            (json!({"map": {"nope": "a"}}), "/map/nope"),
            (json!({"dedupeKey": ".id"}), "/dedupeKey"),
            (json!({"dedupeKey": 1}), "/dedupeKey"),
            (json!({"handshake": "sign"}), "/handshake"),
            (json!({"handshake": true}), "/handshake"),
            (json!({"wake": "yes"}), "/wake"),
            (json!({"verify": 1}), "/verify"),
            (json!({"secret": "x"}), "/secret"),
        ],
        &[
            json!({"mode": "append", "upsertOn": null}),
            json!({"name": "0_a-b", "dedupeKey": null, "handshake": null, "wake": null, "verify": null}),
            json!({"map": {"number": format!("{0}.{0}x", "a".repeat(127))}}),
        ],
    );
    let parsed = admitted(&with("ingest", &rule, &json!({})));
    let parsed = &parsed.rules.as_ref().expect("rules").ingest[0];
    assert_eq!(parsed.mode, IngestMode::Upsert { on: "number".into() });
    assert!(parsed.handshake_echo && parsed.wake && parsed.verify);
    assert_eq!((parsed.map.len(), &*parsed.map["number"]), (2, "order.id"));
    // An app whose path was longer before there was a bound goes on.
    let long = format!("{0}.{0}", "a".repeat(128));
    let long = with("ingest", &rule, &json!({"map": {"number": long}}));
    assert!(manifest::reload(&long).is_ok());
    let mut twice = with("ingest", &rule, &json!({}));
    twice["ingest"] = json!([rule, rule]);
    assert_refused(&twice, "ingest_invalid", "/ingest/1/name");
}

#[test]
fn agent_task_rules() {
    let rule = json!({
        "on": "create", "collection": "orders", "taskType": "triage", "prompt": "Sort it.",
        "reads": ["orders", "customers"], "writes": ["orders"]
    });
    check(
        "agentTasks",
        "agent_task_invalid",
        &rule,
        &[
            (json!({"on": null}), "/on"),
            (json!({"collection": "nope"}), "/collection"),
            (json!({"taskType": null}), "/taskType"),
            (json!({"taskType": ""}), "/taskType"),
            (json!({"taskType": " triage"}), "/taskType"),
            (json!({"taskType": "a\nb"}), "/taskType"),
            (json!({"taskType": "a".repeat(65)}), "/taskType"),
            (json!({"prompt": null}), "/prompt"),
            (json!({"prompt": "  "}), "/prompt"),
            (json!({"reads": "orders"}), "/reads"),
            (json!({"reads": ["nope"]}), "/reads/0"),
            (json!({"writes": ["orders", "nope"]}), "/writes/1"),
            (json!({"writes": ["orders", "orders"]}), "/writes/1"),
            (json!({"when": {"field": "state"}}), "/when/op"),
            (json!({"model": "x"}), "/model"),
        ],
        &[
            json!({"reads": [], "writes": null}),
            json!({"when": {"field": "state", "op": "eq", "value": "new", "edge": true}}),
        ],
    );
}

#[test]
fn every_rule_is_reported_as_not_active_yet() {
    let hook = webhook();
    let mut manifest = with("webhooks", &hook, &json!({}));
    manifest["webhooks"] = json!([hook, hook]);
    manifest["notify"] = json!([notify()]);
    let parsed: Manifest = parse(&manifest).expect("valid rules");
    assert_eq!(parsed.inactive, ["/notify/0", "/webhooks/0", "/webhooks/1"]);
}
