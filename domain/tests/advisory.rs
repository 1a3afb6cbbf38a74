//! The exposure report: what fields look like, severities, order and difference.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use rookery_domain::{
    advisory::{Audience, Evidence, Exposure, LooksLike, Report, Severity, evidence},
    manifest::{Manifest, Visibility},
};
use serde_json::{Value, json};

use crate::{cpu::within, manifest::admitted};

fn people(count: usize) -> Vec<Value> {
    (0..count)
        .map(|n| {
            json!({
                "name": "Ada", "email": format!("a{n}@example.org"), "age": 30 + n,
                "contact": {"backup": "ada@example.net", "phone": "030 1234567"},
                "others": ["x", "b@example.org"]
            })
        })
        .collect()
}

fn manifest(permissions: Value) -> Manifest {
    admitted(&json!({"collections": {"people": {"permissions": permissions}}}))
}

fn readable() -> Manifest {
    manifest(json!({"read": ["anyone"], "write": ["owner"], "delete": ["owner"]}))
}

fn with(evidence: Evidence) -> BTreeMap<Arc<str>, Evidence> {
    BTreeMap::from([("people".into(), evidence)])
}

#[test]
fn fields_are_recognised_by_value_or_by_name() {
    for (data, expected) in [
        (json!({"mail": "ada@example.org"}), Some(("mail", LooksLike::EmailAddress))),
        (json!({"a": {"b": ["x@y.example"]}}), Some(("a.b", LooksLike::EmailAddress))),
        (json!({"x": "+49 (30) 123-4567"}), Some(("x", LooksLike::PhoneNumber))),
        (json!({"phoneNumber": "030 1234567"}), Some(("phoneNumber", LooksLike::PhoneNumber))),
        (json!({"mobile": 491_701_234_567_u64}), Some(("mobile", LooksLike::PhoneNumber))),
        (json!({"api_key": "k"}), Some(("api_key", LooksLike::Secret))),
        (json!({"userPassword": "k"}), Some(("userPassword", LooksLike::Secret))),
        (json!({"accessToken": "k"}), Some(("accessToken", LooksLike::Secret))),
        (json!({"token": "ada@example.org"}), Some(("token", LooksLike::Secret))),
        (json!({"ssn": 123}), Some(("ssn", LooksLike::Secret))),
        (json!({"mail": "ada at example.org"}), None),
        (json!({"mail": "@example.org"}), None),
        (json!({"mail": "a@b"}), None),
        (json!({"mail": "write to ada@example.org"}), None),
        (json!({"x": "030 1234567"}), None),
        (json!({"isbn": "978-3-16-148410-0"}), None),
        (json!({"at": 1_700_000_000_000_u64}), None),
        (json!({"password": ""}), None),
        (json!({"password": null, "token": true}), None),
        (json!({"tokens": 5, "secretary": "Ada", "hotel": "x"}), None),
        (json!("ada"), None),
    ] {
        let evidence = Evidence::gather(1, [&data]);
        let found = evidence.fields.first().map(|field| (field.field.as_str(), field.looks_like));
        assert_eq!(found, expected, "{data}");
        assert!(evidence.fields.len() <= 1);
    }
}

#[test]
fn a_finding_says_who_can_do_what_with_how_many_rows() {
    let sample = people(3);
    let evidence = with(Evidence::gather(412, &sample));
    let report = Report::new(&readable(), Visibility::Public, &evidence);
    let [finding] = report.findings.as_slice() else { panic!("{report:?}") };
    assert_eq!(
        finding.message,
        "anyone can read 412 rows; 3 fields look like e-mail addresses; 1 field looks like a phone \
         number (in 3 sampled rows)"
    );
    assert_eq!(finding.severity, Severity::High);
    assert_eq!((finding.exposure, finding.audience), (Exposure::Read, Audience::Everyone));
    assert_eq!(finding.subjects, ["anyone"]);
    let email = finding.fields.iter().find(|field| field.field == "email").expect("email");
    assert_eq!(email.seen, 3);
}

#[test]
fn no_value_of_a_row_is_in_a_report() {
    let row = json!({"mail": "canary@example.org", "password": "canary", "tel": "+4930canary"});
    let report = Report::new(&readable(), Visibility::Public, &with(Evidence::gather(1, [&row])));
    let text = serde_json::to_string(&report).expect("a report is JSON");
    assert!(text.contains("\"severity\":\"critical\"") && !text.contains("canary"), "{text}");
}

#[test]
fn severity_follows_operation_guards_and_reach() {
    let open = json!({
        "read": [], "write": ["anyone"], "update": ["anyone"], "delete": ["anyone", "owner"],
        "countRead": ["anyone"]
    });
    let report = |manifest: &Manifest, visibility, rows| {
        let findings =
            Report::new(manifest, visibility, &with(Evidence::gather(rows, []))).findings;
        findings.into_iter().map(|f| (f.exposure, f.severity)).collect::<Vec<_>>()
    };
    // Whoever sees no row changes none.
    assert_eq!(
        report(&manifest(open.clone()), Visibility::Public, 5),
        [(Exposure::Create, Severity::Medium), (Exposure::Count, Severity::Info)]
    );
    let mut seen = open.clone();
    seen["read"] = json!(["anyone"]);
    let manifest = manifest(seen);
    assert_eq!(
        report(&manifest, Visibility::Public, 5),
        [
            (Exposure::Delete, Severity::High),
            (Exposure::Update, Severity::High),
            (Exposure::Create, Severity::Medium),
            (Exposure::Read, Severity::Low),
        ]
    );
    assert_eq!(report(&manifest, Visibility::Link, 5)[0], (Exposure::Delete, Severity::Medium));
    let everything = [Exposure::Read, Exposure::Delete, Exposure::Update, Exposure::Create];
    assert_eq!(
        report(&manifest, Visibility::Private, 5),
        everything.map(|exposure| (exposure, Severity::Info))
    );
    assert_eq!(report(&manifest, Visibility::Public, 0)[0].1, Severity::Medium);

    let guarded = admitted(&json!({"collections": {"people": {
        "permissions": open, "appendOnly": true, "antiAbuse": "challenge",
        "anonWriteBudget": {"perAppDay": 5}
    }}}));
    assert_eq!(
        report(&guarded, Visibility::Public, 5),
        [(Exposure::Create, Severity::Info), (Exposure::Count, Severity::Info)]
    );
}

#[test]
fn what_only_known_people_can_do_is_no_finding() {
    let closed = manifest(json!({
        "read": ["member", "creator"], "write": ["member"], "update": ["creator"],
        "delete": ["owner"]
    }));
    let report = Report::new(&closed, Visibility::Public, &with(Evidence::gather(9, &people(9))));
    assert_eq!((report.findings.len(), report.worst()), (0, None));
}

#[test]
fn findings_come_worst_first_and_then_by_rows() {
    let lists = json!({"read": ["anyone"], "write": ["owner"], "delete": ["owner"]});
    let collection = || json!({"permissions": lists});
    let manifest = admitted(&json!({"collections": {
        "a-few": collection(), "b-empty": collection(), "c-many": collection(),
        "d-secret": collection(), "e-mail": collection()
    }}));
    let secret = json!({"secret": "x"});
    let mail = json!({"m": "a@b.example"});
    let evidence = BTreeMap::from([
        ("a-few".into(), Evidence::gather(2, [])),
        ("c-many".into(), Evidence::gather(900, [])),
        ("d-secret".into(), Evidence::gather(1, [&secret])),
        ("e-mail".into(), Evidence::gather(5, [&mail])),
    ]);
    let report = Report::new(&manifest, Visibility::Public, &evidence);
    let order: Vec<_> = report.findings.iter().map(|f| &*f.collection).collect();
    assert_eq!(order, ["d-secret", "e-mail", "c-many", "a-few", "b-empty"]);
    assert_eq!(report.worst(), Some(Severity::Critical));
}

#[test]
fn the_difference_of_two_reports_is_what_a_deploy_would_change() {
    let evidence = with(Evidence::gather(2, &people(2)));
    let before = Report::new(&readable(), Visibility::Public, &evidence);
    assert!(before.difference(&before).is_empty());
    let after_manifest = manifest(json!({
        "read": ["anyone", "owner"], "write": ["anyone"], "update": [], "delete": ["owner"]
    }));
    let after = Report::new(&after_manifest, Visibility::Public, &evidence);
    let difference = before.difference(&after);
    assert_eq!(difference.added.len(), 1);
    assert_eq!(difference.added[0].exposure, Exposure::Create);
    assert_eq!(difference.changed.len(), 1);
    assert_eq!(difference.changed[0].after.subjects, ["anyone", "owner"]);
    assert!(difference.removed.is_empty());
    let back = after.difference(&before);
    assert_eq!((back.added.len(), back.removed.len()), (0, 1));
    let hidden = before.difference(&Report::new(&readable(), Visibility::Private, &evidence));
    assert_eq!(hidden.changed[0].after.severity, Severity::Info);
}

#[test]
fn evidence_is_bounded_whatever_the_rows() {
    let wide: serde_json::Map<_, _> =
        (0..1_000).map(|n| (format!("f{n}"), json!("a@b.example"))).collect();
    let wide = Value::Object(wide);
    assert_eq!(Evidence::gather(1, [&wide]).fields.len(), evidence::FIELDS_MAX);
    let rows = people(500);
    let evidence = Evidence::gather(500, &rows);
    assert_eq!(evidence.sampled, evidence::SAMPLED_ROWS_MAX as u64);
    let deep = (0..100).fold(json!("a@b.example"), |inner, _| json!({"a longer name": inner}));
    let evidence = Evidence::gather(1, [&deep]);
    assert_eq!(evidence.fields.len(), 1);
    assert!(evidence.fields[0].field.chars().count() <= 201, "{evidence:?}");
}

#[test]
fn a_secret_is_seen_behind_any_number_of_other_fields_and_at_any_depth() {
    let mails = |count: usize| -> serde_json::Map<_, _> {
        (0..count).map(|n| (format!("c{n:05}"), json!(format!("c{n}@x.example")))).collect()
    };
    let deep = (0..60).fold(json!({"token": "s3cr3t"}), |inner, _| json!({"x": [inner]}));
    for (row, told) in [
        (json!({"contacts": mails(50), "token": "s3cr3t"}), "50 fields look like e-mail addresses"),
        (
            json!({"contacts": mails(3_000), "token": "s3cr3t"}),
            "1000 fields or more look like e-mail",
        ),
        (json!({"contacts": mails(2), "deep": deep}), "1 field looks like a secret; 2 fields look"),
    ] {
        let evidence = Evidence::gather(1, [&row]);
        assert!(evidence.fields.len() <= evidence::FIELDS_MAX);
        assert!(evidence.fields.iter().any(|field| field.looks_like == LooksLike::Secret));
        let report = Report::new(&readable(), Visibility::Public, &with(evidence));
        assert_eq!(report.worst(), Some(Severity::Critical));
        let message = &report.findings[0].message;
        assert!(message.contains("1 field looks like a secret; "), "{message}");
        assert!(message.contains(told), "{message}");
    }
}

#[test]
fn a_sample_is_called_one_also_when_it_shows_nothing() {
    let rows = vec![json!({"n": 1}); 200];
    let message = |all: u64| {
        let evidence = with(Evidence::gather(all, &rows));
        Report::new(&readable(), Visibility::Public, &evidence).findings[0].message.clone()
    };
    assert_eq!(
        message(412),
        "anyone can read 412 rows; no field looks personal or secret (in 200 sampled rows)"
    );
    assert_eq!(message(200), "anyone can read 200 rows");
}

#[test]
fn a_name_as_long_as_half_a_row_is_judged_once_for_a_whole_list() {
    let name = "aB".repeat(16 << 10);
    for item in [json!(1), json!("1")] {
        let row = json!({&name: vec![item; 400]});
        let evidence = within(Duration::from_secs(1), || Evidence::gather(1, [&row]));
        assert!(evidence.fields.is_empty());
    }
}
