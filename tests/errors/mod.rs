//! Every code of the error table that a part built so far can answer is expected by some test of
//! this suite, and answered: a request for each is in `provoked`. The others say which feature they
//! wait for (`ErrorCode::waits_for`). A code that is neither fails.

mod provoked;

use std::{fs, path::Path};

use rookery_domain::ErrorCode;

#[test]
fn every_code_that_can_be_answered_is_expected_somewhere() {
    let mut sources = String::new();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    collect(&tests, &mut sources);
    let words: std::collections::HashSet<&str> =
        sources.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    for code in ErrorCode::ALL {
        let name = format!("{code:?}");
        let expected = words.contains(name.as_str()) || words.contains(code.as_str());
        let expected = expected && !OF_PROBES.contains(code);
        assert!(
            expected != code.waits_for().is_some(),
            "{code}: expected by a test, or waiting: not both"
        );
    }
}

/// Appends the sources below `folder` to `out`, but this one.
fn collect(folder: &Path, out: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.ends_with("node_modules") || path.ends_with("tests/errors/mod.rs") {
            continue;
        }
        if path.is_dir() {
            collect(&path, out);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            out.push_str(&fs::read_to_string(&path).expect("a source"));
        }
    }
}

/// Codes that wait, and that routes made for tests answer all the same.
const OF_PROBES: &[ErrorCode] = &[ErrorCode::NotAReviewer];

/// Codes that a test elsewhere provokes, because the table here would only repeat it.
const ELSEWHERE: &[(&str, &[ErrorCode])] = &[
    (
        "routes::apps::manifest",
        &[
            ErrorCode::AgentTaskInvalid,
            ErrorCode::CapabilityInvalid,
            ErrorCode::CollectionNameInvalid,
            ErrorCode::CollectionSchemaInvalid,
            ErrorCode::EmbedInvalid,
            ErrorCode::ExternalHostInvalid,
            ErrorCode::IngestInvalid,
            ErrorCode::ManifestInvalid,
            ErrorCode::NotifyChannelNotEnabled,
            ErrorCode::NotifyInvalid,
            ErrorCode::NotifyPushRequiresPublic,
            ErrorCode::NotifySubmitterNotEnabled,
            ErrorCode::PermissionRoleInvalid,
            ErrorCode::ScheduleInvalid,
            ErrorCode::TooManyCollections,
            ErrorCode::TooManyEmbeds,
            ErrorCode::TooManyExternalHosts,
            ErrorCode::WebhookInvalid,
        ],
    ),
    (
        "custom domains",
        &[
            ErrorCode::CustomDomainsNotEnabled,
            ErrorCode::DomainExists,
            ErrorCode::DomainInvalid,
            ErrorCode::DomainNotFound,
            ErrorCode::DomainTaken,
        ],
    ),
    ("ops::readiness", &[ErrorCode::Unavailable]),
];

#[tokio::test]
async fn every_code_that_can_be_answered_is_answered_in_a_whole_envelope() {
    let mut said = provoked::of_rows().await;
    said.extend(provoked::of_apps().await);
    said.extend(provoked::of_callers().await);
    said.extend(provoked::of_limits().await);
    said.extend(provoked::of_probes().await);
    for (code, answer) in &said {
        answer.error_of_its_own(*code);
    }
    for code in ErrorCode::ALL {
        let answered = said.iter().any(|(said, _)| said == code);
        let elsewhere = ELSEWHERE.iter().any(|(_, codes)| codes.contains(code));
        assert!(answered || elsewhere || code.waits_for().is_some(), "{code}: no test provokes it");
        assert!(!answered || !elsewhere, "{code}: provoked here and elsewhere");
    }
}
