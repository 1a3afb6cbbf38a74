//! What the document says of single members: times, ids, words and bounds, as the rules have them;
//! and of the headers of answers.

use rookery::router;
use rookery_domain::{
    agent_name,
    app::MIGRATION_MINUTES_MAX,
    credentials, email,
    grants::{GRANT_TTL_S_MAX, GRANT_USES_MAX},
    id, if_match,
    limits::Limits,
    operator::REASON_CHARS_MAX,
    previews::PREVIEW_TTL_S_MAX,
    retention::{MAX_AGE_DAYS_MAX, MAX_ROWS_MAX},
    row_key,
};
use serde_json::{Value, json};

fn document() -> Value {
    serde_json::to_value(router::document()).expect("the document")
}

/// Every member of every schema, with its path.
fn members(document: &Value) -> Vec<(String, &Value)> {
    let mut found = Vec::new();
    for (name, schema) in document["components"]["schemas"].as_object().expect("schemas") {
        let parts = schema["allOf"].as_array().into_iter().flatten();
        for part in parts.chain([schema]) {
            for (member, schema) in part["properties"].as_object().into_iter().flatten() {
                found.push((format!("{name}.{member}"), schema));
            }
        }
    }
    assert!(found.len() > 300, "only {} members", found.len());
    found
}

/// The name of the schema that a member refers to, also where it may be null.
fn named(schema: &Value) -> Option<&str> {
    let one = schema["oneOf"].as_array().and_then(|either| either.first()).unwrap_or(schema);
    one["$ref"].as_str()?.rsplit('/').next()
}

#[test]
fn every_time_is_told_as_one() {
    let document = document();
    for (path, schema) in members(&document) {
        let name = path.rsplit('.').next().expect("a name");
        if name == "at" || name.ends_with("_at") {
            assert_eq!(schema["format"], "date-time", "{path}");
        }
    }
}

#[test]
fn every_id_is_told_as_one() {
    let document = document();
    for (path, schema) in members(&document) {
        let name = path.rsplit('.').next().expect("a name");
        if (name == "id" || name.ends_with("_id")) && path != "ErrorBody.request_id" {
            let kind = named(schema).unwrap_or_else(|| panic!("{path}: {schema}"));
            assert!(kind.ends_with("Id"), "{path}: {kind}");
        }
    }
    let fits = |kind: &str, text: &str| {
        let schema = &document["components"]["schemas"][kind];
        jsonschema::draft202012::new(schema).expect("a schema").is_valid(&json!(text))
    };
    for (kind, id) in [
        ("AppId", id::AppId::new().to_string()),
        ("AgentId", id::AgentId::new().to_string()),
        ("HumanId", id::HumanId::new().to_string()),
        ("OrgId", id::OrgId::new().to_string()),
        ("CredentialId", id::CredentialId::new().to_string()),
    ] {
        assert!(fits(kind, &id) && fits("CallerId", &id), "{id}");
        assert!(!fits(kind, &format!("{id}0")) && !fits(kind, &id.replace('_', "-")), "{id}");
        assert_eq!(fits("AppName", &id), kind == "AppId", "{id}");
    }
    for slug in ["abc", "calm-maple-rook", &"x".repeat(63)] {
        assert!(fits("AppName", slug), "{slug}");
    }
    for none in ["ab", "-ab", "ab-", "A-b", &"x".repeat(64)] {
        assert!(!fits("AppName", none), "{none}");
    }
}

#[test]
fn every_id_in_a_path_has_its_kind() {
    let document = document();
    for (path, item) in document["paths"].as_object().expect("paths") {
        for operation in item.as_object().expect("a path").values() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let name = parameter["name"].as_str().expect("a name");
                let is_id = name == "id" || name.ends_with("_id") || name.ends_with("Id");
                if parameter["in"] == "path" && is_id {
                    assert!(named(&parameter["schema"]).is_some(), "{path}: {name}");
                }
            }
        }
    }
}

/// Whether a description is nothing but a list of words: `a`, `b` or `c`.
fn lists_words(text: &str) -> bool {
    let rest: Vec<_> = text.trim_end_matches('.').split('`').collect();
    let between = rest.iter().step_by(2);
    rest.len() > 3 && between.clone().all(|gap| ["", ", ", " or ", " and ", ", or "].contains(gap))
}

#[test]
fn a_member_with_listed_words_is_an_enumeration() {
    assert!(lists_words("`a`, `b` or `c`.") && !lists_words("`a`: it does. `b`: it does not."));
    let document = document();
    for (path, schema) in members(&document) {
        let bare = named(schema).is_none() && schema["enum"].is_null();
        let text = schema["description"].as_str().unwrap_or_default();
        assert!(!(bare && lists_words(text)), "{path}: {text}");
    }
}

#[test]
fn bounds_are_those_of_the_rules() {
    let document = document();
    let rows_max = Limits::default().batch_rows_max;
    for (path, keyword, bound) in [
        ("OrgNameBody.name", "maxLength", json!(agent_name::NAME_CHARS_MAX)),
        ("OrgNameBody.name", "minLength", json!(1)),
        ("Rename.name", "maxLength", json!(agent_name::NAME_CHARS_MAX)),
        ("Rename.name", "minLength", json!(1)),
        ("Register.name", "maxLength", json!(agent_name::NAME_CHARS_MAX)),
        ("DeviceRequest.name", "maxLength", json!(agent_name::NAME_CHARS_MAX)),
        ("ProfilePatch.name", "maxLength", json!(agent_name::NAME_CHARS_MAX)),
        ("SignupSource.source", "maxLength", json!(agent_name::NAME_CHARS_MAX)),
        ("SignupSource.source", "minLength", json!(1)),
        ("NewCredential.name", "maxLength", json!(agent_name::NAME_CHARS_MAX)),
        ("NewCredential.name", "minLength", json!(1)),
        ("Rotation.overlap_s", "maximum", json!(credentials::OVERLAP_S_MAX)),
        ("Rotation.overlap_s", "minimum", json!(0)),
        ("NewGrant.max_uses", "maximum", json!(GRANT_USES_MAX)),
        ("NewGrant.max_uses", "minimum", json!(1)),
        ("NewGrant.expires_in_s", "maximum", json!(GRANT_TTL_S_MAX)),
        ("NewGrant.expires_in_s", "minimum", json!(1)),
        ("NewPreview.expires_in_s", "maximum", json!(PREVIEW_TTL_S_MAX)),
        ("NewPreview.expires_in_s", "minimum", json!(1)),
        ("SetMigrationMode.ttl_minutes", "maximum", json!(MIGRATION_MINUTES_MAX)),
        ("SetMigrationMode.ttl_minutes", "minimum", json!(1)),
        ("RetentionBody.max_age_days", "maximum", json!(MAX_AGE_DAYS_MAX)),
        ("RetentionBody.max_rows", "maximum", json!(MAX_ROWS_MAX)),
        ("BatchWriteBody.rows", "maxItems", json!(rows_max)),
        ("BatchDeleteBody.keys", "maxItems", json!(rows_max)),
        ("WriteBody.key", "maxLength", json!(row_key::CHARS_MAX)),
        ("WriteBody.key", "minLength", json!(1)),
        ("KeyedDelete.key", "maxLength", json!(row_key::CHARS_MAX)),
        ("UpdateBody.if_match", "maximum", json!(if_match::VERSION_MAX)),
        ("DeleteBody.if_match", "maximum", json!(if_match::VERSION_MAX)),
        ("KeyedDelete.if_match", "maximum", json!(if_match::VERSION_MAX)),
        ("NewMember.email", "maxLength", json!(email::ADDRESS_BYTES_MAX)),
        ("NewOrgMember.email", "maxLength", json!(email::ADDRESS_BYTES_MAX)),
        ("NewTransfer.email", "maxLength", json!(email::ADDRESS_BYTES_MAX)),
        ("LinkRequest.email", "maxLength", json!(email::ADDRESS_BYTES_MAX)),
        ("DeployBody.html", "minLength", json!(1)),
        ("DeployForm.html", "minLength", json!(1)),
        ("RedeployBody.html", "minLength", json!(1)),
        ("RedeployForm.html", "minLength", json!(1)),
    ] {
        let (schema, member) = path.split_once('.').expect("a member");
        let schema = &document["components"]["schemas"][schema]["properties"][member];
        assert_eq!(schema[keyword], bound, "{path}: {schema}");
    }
    let ops = serde_json::to_value(router::ops().1).expect("the operators' document");
    let reason = &ops["components"]["schemas"]["Why"]["properties"]["reason"];
    assert_eq!(reason["maxLength"], json!(REASON_CHARS_MAX));
    assert_eq!(reason["minLength"], json!(1));
    for (path, schema) in members(&document).iter().filter(|(path, _)| path.ends_with(".email")) {
        assert_eq!(schema["format"], "email", "{path}");
    }
}

#[test]
fn a_schema_takes_what_the_server_takes() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    let long = "x".repeat(100);
    let named = |schema: &'static str| {
        let names = [("a b", true), (" a ", true), (&*long, true), ("日本", true), ("", false)];
        let wrong = [(" ", false), ("a\u{7}b", false), ("a\u{2028}b", false), ("\u{202e}a", false)];
        let blank = ["\u{200b}", "\u{3164}", "\u{2800}", "\u{ad}", "\u{61c}", "\u{2800} \u{200d}"];
        let wrong = wrong.into_iter().chain(blank.map(|name| (name, false)));
        names.into_iter().chain(wrong).map(move |(name, fits)| {
            let domain = agent_name::AgentName::parse(name).is_ok();
            assert_eq!(domain, fits, "{name:?}");
            (schema, json!({"name": name}), fits)
        })
    };
    let write = |key: &str| json!({"key": key, "data": {}});
    let credential = |mode: Value, collections: Value| {
        let mut body = json!({"operations": ["read"]});
        for (member, value) in [("mode", mode), ("collections", collections)] {
            if !value.is_null() {
                body[member] = value;
            }
        }
        body
    };
    let end = "2027-01-01T00:00:00.000Z";
    let bodies = [
        ("WriteBody", write("a/ü"), true),
        ("WriteBody", write(""), false),
        ("WriteBody", write("a\u{0}"), false),
        ("WriteBody", write("a\u{85}"), false),
        ("WriteBody", json!({"on": "email", "data": {}}), true),
        ("WriteBody", json!({"key": "k", "on": "email", "data": {}}), false),
        ("NewPreview", json!({"expires_at": end}), true),
        ("NewPreview", json!({"expires_at": end, "expires_in_s": 60}), false),
        ("NewGrant", json!({"role": "x", "expires_at": end, "expires_in_s": 60}), false),
        ("NewCredential", json!({"name": "a\u{7}", "collections": ["c"]}), false),
        ("NewCredential", credential(Value::Null, json!(["c"])), true),
        ("NewCredential", credential(json!("following"), Value::Null), true),
        ("NewCredential", credential(json!("following"), json!([])), true),
        ("ProfilePatch", json!({"name": ""}), true),
        ("ProfilePatch", json!({"name": " "}), true),
        ("ProfilePatch", json!({"name": " a "}), true),
        ("ProfilePatch", json!({"name": null}), true),
        ("ProfilePatch", json!({"name": "a\u{7}b"}), false),
        ("DeployBody", json!({"html": "x", "slug": "abc", "input_data": {}}), true),
        ("DeployBody", json!({"html": "x", "force": true}), false),
        ("RedeployBody", json!({"html": "x", "force": true}), true),
        ("RedeployBody", json!({"html": "x", "slug": "abc"}), false),
        ("RedeployBody", json!({"html": "x", "input_data": {}}), false),
        ("RedeployBody", json!({"html": "x", "org_id": null}), false),
    ];
    let names = ["Register", "DeviceRequest", "Rename", "OrgNameBody"];
    for (schema, body, fits) in bodies.into_iter().chain(names.into_iter().flat_map(named)) {
        let mut whole = schemas[schema].clone();
        whole["components"] = json!({"schemas": schemas});
        let validator = jsonschema::draft202012::new(&whole).expect("a schema");
        assert_eq!(validator.is_valid(&body), fits, "{schema}: {body}");
    }
    for (path, item) in document["paths"].as_object().expect("paths") {
        for parameter in item["get"]["parameters"].as_array().into_iter().flatten() {
            if parameter["name"] == "cursor" {
                assert_eq!(parameter["schema"]["minLength"], 1, "{path}");
            }
        }
    }
}

/// Generators of clients turn conditions among the members of an object into types of nothing.
#[test]
fn a_body_of_optional_members_is_one_plain_object() {
    let document = document();
    let credential = &document["components"]["schemas"]["NewCredential"];
    assert_eq!(credential["type"], "object");
    for keyword in ["anyOf", "oneOf", "allOf"] {
        assert!(credential[keyword].is_null(), "{credential}");
    }
}

#[test]
fn every_read_with_a_tag_lists_its_conditions() {
    let document = document();
    let mut seen = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (verb, operation) in item.as_object().expect("a path") {
            let listed = operation["parameters"].as_array().into_iter().flatten();
            let headers: Vec<_> = listed.filter(|one| one["in"] == "header").collect();
            let of = |name: &str| headers.iter().find(|one| one["name"] == name);
            let is_tagged = operation["responses"]["304"].is_object();
            assert_eq!(of("If-None-Match").is_some(), is_tagged, "{verb} {path}");
            if let Some(condition) = of("If-Match") {
                assert_eq!(condition["schema"]["minLength"], 1, "{verb} {path}");
                seen += 1;
            } else {
                assert!(!is_tagged, "{verb} {path}");
            }
        }
    }
    assert!(seen > 25, "only {seen} operations");
}

#[test]
fn the_second_name_of_a_member_is_deprecated_and_another_spelling_is_not_listed() {
    let document = document();
    let mut sources = vec![format!("{}/src/routes", env!("CARGO_MANIFEST_DIR")).into()];
    let mut seen = 0;
    while let Some(path) = sources.pop() {
        let path: std::path::PathBuf = path;
        if path.is_dir() {
            let inside = std::fs::read_dir(&path).expect("a folder");
            sources.extend(inside.map(|entry| entry.expect("an entry").path()));
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        for (at, _) in text.match_indices("alias = \"") {
            let second = text[at..].split('"').nth(1).expect("a name");
            let (_, above) = text[..at].rsplit_once("pub struct ").expect("a type");
            let name = above.split([' ', '{']).next().expect("its name");
            let members = &document["components"]["schemas"][name]["properties"];
            let members = members.as_object().expect("an object");
            // Generated code has one name for all spellings of it.
            let plain = |name: &str| name.replace('_', "").to_lowercase();
            let is_spelling =
                members.keys().any(|own| own != second && plain(own) == plain(second));
            let listed = members.get(second).map(|member| &member["deprecated"]);
            let expected = (!is_spelling).then_some(&Value::Bool(true));
            assert_eq!(listed, expected, "{name}.{second}");
            seen += 1;
        }
    }
    assert_eq!(seen, 4);
    for (name, schema) in document["components"]["schemas"].as_object().expect("schemas") {
        let members = schema["properties"].as_object().into_iter().flat_map(|all| all.keys());
        let mut plain: Vec<_> = members.map(|name| name.replace('_', "").to_lowercase()).collect();
        plain.sort_unstable();
        assert!(plain.windows(2).all(|two| two[0] != two[1]), "{name}: two spellings of one name");
    }
    let schema = &document["components"]["schemas"]["NewGrant"];
    let validator = jsonschema::draft202012::new(schema).expect("a schema");
    for (body, fits) in [
        (json!({"role": "editor"}), true),
        (json!({"custom_role": "editor"}), true),
        (json!({"role": "editor", "custom_role": "editor"}), false),
        (json!({"max_uses": 1}), false),
    ] {
        assert_eq!(validator.is_valid(&body), fits, "{body}");
    }
}

#[test]
fn every_answer_tells_its_headers() {
    let document = document();
    let mut answers = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (verb, operation) in item.as_object().expect("a path") {
            for (status, answer) in operation["responses"].as_object().into_iter().flatten() {
                let has = |name: &str| {
                    let header = &answer["headers"][name]["$ref"];
                    header.as_str() == Some(&format!("#/components/headers/{name}"))
                };
                let place = format!("{verb} {path} {status}");
                assert!(has("X-Request-Id"), "{place}");
                assert!(has("RateLimit") && has("RateLimit-Policy"), "{place}");
                assert!(has("Retry-After") || !["429", "503"].contains(&&**status), "{place}");
                assert_eq!(has("Location"), ["201", "303"].contains(&&**status), "{place}");
                assert_eq!(has("WWW-Authenticate"), *status == "401", "{place}");
                answers += 1;
            }
        }
    }
    assert!(answers > 900, "only {answers} answers");
    let deploys = &document["paths"]["/v1/apps"]["post"]["responses"];
    for (status, is_replayed) in [("201", true), ("200", false)] {
        let header = deploys[status]["headers"].get("Idempotent-Replayed");
        assert_eq!(header.is_some(), is_replayed, "a deploy's {status}");
    }
    let ops = serde_json::to_string(&router::ops().1).expect("the operators' document");
    assert!(ops.contains("headers/X-Request-Id") && !ops.contains("headers/RateLimit"));
    assert!(!ops.contains("\"429\"") && !ops.contains("\"426\""), "nobody is bounded there");
    let row = "/v1/apps/{id}/collections/{name}";
    let create = &document["paths"][row]["post"]["responses"];
    for (status, name, there) in [
        ("200", "Row-Existed", true),
        ("201", "Row-Existed", false),
        ("201", "ETag", true),
        ("200", "Idempotent-Replayed", true),
        ("409", "Idempotent-Replayed", false),
    ] {
        assert_eq!(create[status]["headers"][name].is_object(), there, "{status} {name}");
    }
    let picture = &document["paths"]["/v1/apps/{id}/screenshot"]["get"]["responses"]["200"];
    assert!(picture["headers"]["X-Service-Screenshot-Source"].is_object(), "{picture}");
    let list = &document["paths"][row]["get"]["responses"];
    assert!(list["200"]["headers"]["ETag"].is_object());
    assert!(list["304"]["headers"]["ETag"].is_object());
}
