//! The documents about the API: complete, current, readable without a script.

use reqwest::Method;
use rookery::{openapi, router};
use rookery_domain::{
    ErrorCode,
    event::{AccessEvent, EventType},
};
use serde_json::{Value, json};

use crate::harness::{Answer, TestServer};

#[test]
fn the_committed_document_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/openapi.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == openapi::to_json(&router::document()),
        "docs/openapi.json is stale: cargo run -- openapi > docs/openapi.json"
    );
}

#[tokio::test]
async fn an_operation_tells_its_credentials_and_its_errors() {
    let server = TestServer::builder().with_probes().start().await;
    let document = server.get("/v1/openapi.json").await.expect(200);
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert_eq!(document["servers"][0]["url"], server.public_url());
    let of_apps = server.public_url().replace("://", "://{slug}.");
    assert_eq!(document["paths"]["/s/session"]["servers"][0]["url"], of_apps);

    let claimed = &document["paths"]["/v1/probe/claimed"]["post"];
    // Answers with the same one or two errors are written once for all operations.
    let shared = |status: &str| {
        let target = claimed["responses"][status]["$ref"].as_str().expect("a reference");
        document.pointer(target.trim_start_matches('#')).expect("an answer")
    };
    assert_eq!(claimed["security"], json!([{"agent_key": []}]));
    assert_eq!(shared("403")["description"], "`agent_not_claimed`, `forbidden`");
    assert_eq!(shared("409")["description"], "`conflict`");
    let optional = &document["paths"]["/s/access"]["get"];
    let either = json!([{"participant_token": []}, {"participant_cookie": []}, {}]);
    assert_eq!(optional["security"], either);
    let public = &document["paths"]["/v1/probe/query"]["get"];
    assert_eq!(public["security"], json!([{}]));
    let schemes = &document["components"]["securitySchemes"];
    assert_eq!(schemes["human_session"]["name"], "service_session", "as it is over plain http");
    assert_eq!(schemes["participant_cookie"]["name"], "service_participant");
    let envelope = &shared("500")["content"]["application/json"]["schema"]["$ref"];
    assert_eq!(envelope, "#/components/schemas/ErrorEnvelope");
    assert!(document["components"]["schemas"]["ErrorBody"].is_object());
}

/// Every `$ref` in `value`.
fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(target) if name == "$ref" => found.push(target.clone()),
                    member => references(member, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

/// The contract's order of precedence, as clients are told it.
#[tokio::test]
async fn the_reference_names_every_check_in_their_order() {
    let server = TestServer::start().await;
    let text = server.get("/reference/api.md").await.text;
    let (_, order) = text.split_once("the first in the order: ").expect("the order");
    let order = order.split_whitespace().collect::<Vec<_>>().join(" ");
    let checks = [
        "path and verb",
        "CLI version",
        "rate limit",
        "credential (401)",
        "claimed (403)",
        "the page",
        "the app",
        "deleted or closed",
        "parameters",
        "body",
        "idempotency",
        "collection",
        "allowlist",
        "may not see",
        "permission",
        "challenge",
        "append-only",
        "`if_match`",
        "relation",
        "schema",
        "write budget",
        "unique",
        "quota",
    ];
    let mut rest = order.as_str();
    for check in checks {
        let (_, after) = rest.split_once(check).unwrap_or_else(|| panic!("{check} in {order}"));
        rest = after;
    }
    assert!(rest.starts_with('.'), "{rest}");
}

#[tokio::test]
async fn the_shortest_way_says_how_each_wait_ends() {
    let server = TestServer::start().await;
    let text = server.get("/llms.txt").await.text;
    for said in ["/v1/device/token", "`interval`", "`wait=0`", "Ask again", "documents, pages"] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let document = server.get("/v1/openapi.json").await.expect(200).to_string();
    for said in ["At most 500 by default", "for 30 days by default"] {
        assert!(document.contains(said), "{said}");
    }
}

#[tokio::test]
async fn every_reference_in_the_document_leads_somewhere() {
    let server = TestServer::builder().with_probes().start().await;
    let document = server.get("/v1/openapi.json").await.expect(200);
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(!found.is_empty());
    for target in found {
        let pointer = target.strip_prefix('#').expect("a reference inside the document");
        assert!(document.pointer(pointer).is_some(), "{target}");
    }
}

/// Every operation of the document, with its path.
pub(crate) fn operations(document: &Value) -> impl Iterator<Item = (&str, &Value)> {
    document["paths"].as_object().unwrap().iter().flat_map(|(path, item)| {
        let operations = item.as_object().unwrap().values();
        operations.filter(|one| one["responses"].is_object()).map(|one| (path.as_str(), one))
    })
}

/// What the standard asks for, and its common linters.
#[test]
fn the_document_says_of_everything_what_it_is() {
    let document = serde_json::to_value(router::document()).unwrap();
    assert!(document["servers"][0]["url"].is_string());
    assert!(document["info"]["license"]["identifier"].is_string());
    let mut known = std::collections::BTreeSet::new();
    for tag in document["tags"].as_array().unwrap() {
        assert!(!tag["description"].as_str().unwrap().is_empty(), "{tag}");
        assert!(known.insert(tag["name"].as_str().unwrap()), "{tag} stands there twice");
    }
    let mut used = std::collections::BTreeSet::new();
    for (path, operation) in operations(&document) {
        let tags = operation["tags"].as_array().unwrap();
        assert_eq!(tags.len(), 1, "{path}: one group");
        used.insert(tags[0].as_str().unwrap());
        for text in ["summary", "description"] {
            assert!(!operation[text].as_str().unwrap_or_default().contains("<script"), "{path}");
        }
        for (status, answer) in operation["responses"].as_object().unwrap() {
            let text = answer["description"].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{path}: what is its {status}?");
        }
    }
    assert_eq!(used, known);
}

#[test]
fn every_schema_and_header_of_the_document_is_used() {
    let document = serde_json::to_value(router::document()).unwrap();
    let mut found = Vec::new();
    references(&document, &mut found);
    for kind in ["schemas", "headers"] {
        for name in document["components"][kind].as_object().unwrap().keys() {
            assert!(found.contains(&format!("#/components/{kind}/{name}")), "{name}");
        }
    }
}

#[tokio::test]
async fn the_page_shows_every_operation_without_any_script() {
    let server = TestServer::builder().with_probes().start().await;
    let document = server.get("/v1/openapi.json").await.expect(200);
    let page = server.get("/docs").await;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    for path in document["paths"].as_object().unwrap().keys() {
        assert!(page.text.contains(&format!("<code>{path}</code>")), "{path}");
    }
    for forbidden in ["<script", "style=", "onclick", "//cdn"] {
        assert!(!page.text.contains(forbidden), "{forbidden}");
    }
    assert!(page.text.contains("name=\"viewport\""));
    for address in page.text.split("=\"data:").skip(1) {
        let address = address.split('"').next().unwrap_or_default();
        assert!(!address.contains(' '), "a space in an address: {address}");
    }
    let style = server.get("/docs/style.css").await;
    assert_eq!((style.status, style.header("content-type")), (200, "text/css; charset=utf-8"));
    assert!(style.text.contains("light dark"));
}

#[tokio::test]
async fn the_error_reference_has_an_anchor_for_every_code() {
    let server = TestServer::start().await;
    let page = server.get("/reference/errors").await;
    assert_eq!(page.status, 200);
    for code in ErrorCode::ALL {
        assert!(page.text.contains(&format!("id=\"{code}\"")), "{code}");
    }
}

#[tokio::test]
async fn what_is_not_in_use_yet_is_marked_wherever_codes_are_listed() {
    let server = TestServer::start().await;
    let page = server.get("/reference/errors").await.text;
    let written = server.get("/reference/errors.md").await;
    assert_eq!(written.header("content-type"), "text/markdown; charset=utf-8");
    assert!(written.text.len() < 40_000, "{}", written.text.len());
    for code in ErrorCode::ALL {
        let entry = |text: &str, begin: &str, end: &str| {
            let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("{code}"));
            rest.split(end).next().unwrap_or_default().contains("Not in use yet")
        };
        let waits = code.waits_for().is_some();
        assert_eq!(entry(&page, &format!("<section id=\"{code}\""), "</section>"), waits, "{code}");
        assert_eq!(entry(&written.text, &format!("\n## {code}\n"), "\n## "), waits, "{code}");
        assert!(written.text.contains(code.hint()) && written.text.contains(code.meaning()));
    }
}

#[tokio::test]
async fn language_models_get_the_whole_api_in_short() {
    let server = TestServer::start().await;
    let document = server.get("/v1/openapi.json").await.expect(200);
    let answer = server.get("/reference/api.md").await;
    assert_eq!(answer.header("content-type"), "text/markdown; charset=utf-8");
    let text = &answer.text;
    // Short is what it is for: much beyond 70 KB something has to be said more briefly.
    assert!((10_000..72_000).contains(&text.len()), "{} bytes", text.len());
    for (path, operation) in operations(&document) {
        let heading = text.lines().any(|line| {
            line.strip_prefix("### ").and_then(|rest| rest.split(' ').nth(1)) == Some(path)
        });
        assert!(heading, "{path}");
        let about = operation["description"].as_str().unwrap().rsplit_once("Who: ").unwrap().0;
        let about = about.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&about), "{path}: {about}");
        let summary = operation["summary"].as_str().unwrap_or_default().trim_end_matches('.');
        assert!(!summary.is_empty() && text.contains(summary), "{path}: {summary}");
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap();
            let place = parameter["in"].as_str().unwrap();
            let shown = match place {
                "path" => text.contains(&format!("{{{name}}}")),
                place => text.lines().any(|line| {
                    line.starts_with(&format!("- {}", &place[..5])) && line.contains(name)
                }),
            };
            assert!(shown, "{path}: {name}");
        }
    }
    // Each type that is named is there, and nothing of the notation is left open.
    for line in text.lines().filter(|line| line.starts_with("- `")) {
        assert!(!line.contains("``") && !line.contains(": any"), "{line}");
    }
    for part in [
        "For: An agent that a human has claimed.",
        "- body: `{assets?: AssetBody[]|null, ",
        "- 200 `Rehearsal`, or 201 `CreatedApp`",
        "- 200 `Page<AppRecordBody>`",
        "- `AppRecordBody` = `{",
        "visibility: VisibilityBody",
        "- `VisibilityBody` = `\"private\"|\"link\"|\"public\"`",
        "## Filters and sorts",
        "Idempotency-Key",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    for place in ["/llms.txt", "/docs"] {
        assert!(server.get(place).await.text.contains("/reference/api.md"), "{place}");
    }
}

#[tokio::test]
async fn every_type_of_event_is_listed() {
    let server = TestServer::start().await;
    let document = server.get("/v1/openapi.json").await.expect(200);
    let record = document["components"]["schemas"]["EventRecord"]["description"].as_str().unwrap();
    let short = server.get("/reference/api.md").await.text;
    let of_access = AccessEvent::ALL.iter().map(|event| event.as_str());
    for name in EventType::NAMES.iter().copied().chain(of_access).chain(["event.<type>"]) {
        let named = format!("`{name}`");
        assert!(record.contains(&named) && short.contains(&named), "{name}");
    }
}

#[tokio::test]
async fn what_a_program_needs_to_come_in_is_said_where_it_reads() {
    let server = TestServer::start().await;
    let short = server.get("/reference/api.md").await.text;
    for named in ["service_participant", "/s/grant/", "/s/preview/", "/s/share/"] {
        assert!(short.contains(&format!("`{named}`")), "{named}");
    }
    assert!(short.contains("/authorize?app=") && short.contains("`x-service-cli-version: 1.4.0`"));
    // A path that nobody has leads to those that there are, and no document to one that is not served.
    for path in ["/openapi.json", "/v1", "/reference", "/reference/api"] {
        let hint = server.get(path).await.error(ErrorCode::NotFound)["hint"].to_string();
        for document in ["/llms.txt", "/v1/openapi.json"] {
            assert!(hint.contains(document), "{path}: {hint}");
        }
    }
    let types = include_str!("../sdk/app.d.ts");
    assert!(types.contains("/reference/sdk.md") && !types.contains("docs/SDK.md"));
}

/// The code between backquotes behind `mark` in a text, unwrapped.
fn quoted(text: &str, mark: &str) -> String {
    let (_, rest) = text.split_once(mark).expect("the mark");
    let (_, rest) = rest.split_once('`').expect("a quotation");
    rest.split('`').next().unwrap_or_default().replace("\n   ", " ")
}

#[tokio::test]
async fn whoever_follows_the_shortest_way_sees_the_page() {
    let server = TestServer::start().await;
    let owner = server.owner("ann").await;
    let llms = server.get("/llms.txt").await.text;
    let url = format!("{}/v1/apps`", server.public_url());
    let mut body: Value = serde_json::from_str(&quoted(&llms, &url)).expect("a body");
    let host_of = |app: &Value| {
        let url = app["url"].as_str().expect("an address");
        url.trim_start_matches("http://").trim_end_matches('/').to_owned()
    };
    let host_line = format!("`Host: {}`", host_of(&json!({"url": server.public_url()})));
    let host_line = host_line.replace("localhost", "<slug>.localhost");
    assert!(llms.contains(&host_line), "{host_line}:\n{llms}");
    let app = server.send(Method::POST, &owner, "/v1/apps", &body).await.expect(201);
    let page = |host: &str| server.request(Method::GET, "/").header("host", host);
    assert_eq!(Answer::of(page(&host_of(&app))).await.status, 200);

    // The private one is looked at as the text says.
    body["manifest"]["visibility"] = json!("private");
    let app = server.send(Method::POST, &owner, "/v1/apps", &body).await.expect(201);
    let host = host_of(&app);
    let session = |host: &str| server.request(Method::GET, "/s/session").header("host", host);
    let refusal = Answer::of(session(&host)).await.error_of_its_own(ErrorCode::Unauthorized);
    for named in ["/test-session-tokens", "/s/session", "x-service-participant-token"] {
        assert!(refusal["hint"].as_str().unwrap().contains(named), "{refusal}");
        assert!(llms.contains(named.trim_start_matches('/')), "{named}");
    }
    let path = format!("/v1/apps/{}/test-session-tokens", app["id"].as_str().unwrap());
    let token = server.send(Method::POST, &owner, &path, &Value::Null).await.expect(201);
    let enter = server.request(Method::POST, "/s/session").header("host", &host);
    let entered = Answer::of(enter.json(&json!({"token": token["token"]}))).await.expect(201);
    let token = entered["token"].as_str().expect("a token");
    let seen = Answer::of(page(&host).header("x-service-participant-token", token)).await;
    assert!(seen.status == 200 && seen.text.contains("<h1>Hello</h1>"), "{}", seen.text);
    let by_cookie = server.request(Method::POST, "/s/collections/entries").header("host", &host);
    let by_cookie = by_cookie.header("cookie", format!("service_participant={token}"));
    let refusal = Answer::of(by_cookie.json(&json!({"data": {}}))).await;
    let refusal = refusal.error(ErrorCode::CsrfOriginMismatch);
    assert!(refusal["hint"].as_str().unwrap().contains("x-service-participant-token"), "{refusal}");
}

#[tokio::test]
async fn agents_find_the_shortest_way() {
    let server = TestServer::start().await;
    let answer = server.get("/llms.txt").await;
    assert_eq!(answer.header("content-type"), "text/plain; charset=utf-8");
    for step in ["/v1/register", "/v1/agents/claim", "/v1/apps", "/v1/openapi.json"] {
        assert!(answer.text.contains(&format!("{}{step}", server.public_url())), "{step}");
    }
}

#[tokio::test]
async fn guides_are_pages_and_markdown() {
    let server = TestServer::start().await;
    for name in ["manifest", "sdk"] {
        let page = server.get(&format!("/reference/{name}")).await;
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        let here = format!("<a href=\"/reference/{name}\" aria-current=\"page\">");
        let wide = "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"";
        let tables = page.text.split(wide).skip(1).map(|rest| rest.split('"').next());
        let mut tables: Vec<_> = tables.collect();
        assert!(!tables.contains(&Some("")), "{name}: a table without a name");
        tables.sort_unstable();
        assert!(tables.windows(2).all(|two| two[0] != two[1]), "{name}: two tables of one name");
        for part in ["<h1>", wide, "<pre tabindex=\"0\"><code>", &here] {
            assert!(page.text.contains(part), "{name}: {part}");
        }
        let written = server.get(&format!("/reference/{name}.md")).await;
        assert_eq!(written.header("content-type"), "text/markdown; charset=utf-8");
        let file = format!("{}/docs/{}.md", env!("CARGO_MANIFEST_DIR"), name.to_uppercase());
        assert!(written.text == std::fs::read_to_string(file).unwrap(), "{name}");
        let llms = server.get("/llms.txt").await.text;
        assert!(llms.contains(&format!("{}/reference/{name}.md", server.public_url())), "{name}");
    }
}

#[tokio::test]
async fn the_manifests_guide_names_every_member_and_its_example_deploys() {
    let server = TestServer::start().await;
    let owner = server.owner("owner").await;
    let guide = server.get("/reference/manifest.md").await.text;
    let deploy = async |manifest: Value| {
        let body = json!({"html": "<p>app</p>", "manifest": manifest});
        server.send(Method::POST, &owner, "/v1/apps", &body).await
    };
    let example = guide.split("```").nth(1).and_then(|block| block.strip_prefix("json"));
    deploy(serde_json::from_str(example.expect("an example")).unwrap()).await.expect(201);

    let stray = json!({"zzz": 1});
    let with = |member: &str, value: Value| {
        let mut collection = json!({"permissions": {"read": ["owner"], "write": ["owner"],
            "delete": ["owner"]}});
        collection[member] = value;
        json!({"collections": {"x": collection}})
    };
    let rule = |kind: &str| {
        let mut manifest = with("appendOnly", json!(false));
        manifest[kind] = json!([stray]);
        manifest
    };
    for manifest in [
        stray.clone(),
        json!({"roles": {"r": stray}}),
        json!({"events": {"e": stray}}),
        json!({"collections": {"x": stray}}),
        with("permissions", stray.clone()),
        with("anonWriteBudget", stray.clone()),
        with("retention", stray.clone()),
        with("relations", json!({"f": stray})),
        rule("notify"),
        rule("schedules"),
        rule("webhooks"),
        rule("ingest"),
        rule("agentTasks"),
    ] {
        let refusal = deploy(manifest.clone()).await.json();
        let violations = refusal["error"]["details"]["violations"].as_array();
        let known = violations.into_iter().flatten().find_map(|violation| {
            violation["message"].as_str()?.strip_prefix("unknown member; known: ")
        });
        for member in known.unwrap_or_else(|| panic!("{manifest}: {refusal}")).split(", ") {
            assert!(guide.contains(&format!("`{member}`")), "{manifest}: {member}");
        }
    }
}

#[tokio::test]
async fn error_references_may_live_elsewhere() {
    let builder =
        TestServer::builder().set("ROOKERY__SERVER__DOCS_URL", "https://docs.example.org/r");
    let server = builder.start().await;
    let error = server.get("/v1/unknown").await.error(ErrorCode::NotFound);
    assert_eq!(error["docs_url"], "https://docs.example.org/r/reference/errors#not_found");
}

#[tokio::test]
async fn documents_come_compressed_and_once() {
    let server = TestServer::start().await;
    let get = |path: &str| server.request(Method::GET, path);
    for path in [
        "/v1/openapi.json",
        "/docs",
        "/docs/style.css",
        "/reference/errors",
        "/reference/api.md",
        "/reference/errors.md",
        "/reference/manifest",
        "/reference/sdk.md",
        "/llms.txt",
    ] {
        let plain = server.get(path).await;
        assert!(!plain.headers.contains_key("content-encoding"), "{path}");
        assert_eq!(plain.header("vary"), "accept-encoding");
        let (packed, bytes) = Answer::packed(get(path)).await;
        assert!(packed.text == plain.text, "{path}");
        assert!(bytes < 100_000 && bytes < plain.text.len(), "{path}: {bytes} bytes");
        assert_ne!(packed.header("etag"), plain.header("etag"));
        for known in [plain.header("etag"), packed.header("etag")] {
            let coding = if known == plain.header("etag") { "identity" } else { "gzip" };
            let again = get(path).header("if-none-match", known).header("accept-encoding", coding);
            let again = Answer::of(again).await;
            assert_eq!((again.status, again.text.as_str()), (304, ""), "{path}");
        }
    }
}
