//! An app's types, read by the TypeScript compiler itself.

use std::{fs, path::Path};

use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use reqwest::Method;
use rookery::pages::sdk::SDK_D_TS;
use rookery_domain::{
    ErrorCode,
    limits::Limits,
    manifest::{self, ParseContext},
    typescript::declarations,
};
use serde_json::{Value, json};
use tokio::process::Command;

use crate::harness::{Answer, TestServer, services};

/// Manifests that the compiler reads the declarations of.
const MANIFESTS: usize = 60;

/// A page's script in an app with the manifest of the first test. Each line below a marker must be
/// refused, and no other line may be.
const USAGE: &str = r#"
async function page() {
  const entries = app.collection("entries");
  const row = await entries.create({ name: "Ada", tags: ["x"], "odd \"name": 1 });
  const name: string = row.data.name;
  const state: "open" | "done" | undefined = row.data.state;
  // @ts-expect-error a member of another type
  await entries.create({ name: 1 });
  // @ts-expect-error a required member is missing
  await entries.create({ tags: [] });
  // @ts-expect-error no such value
  await entries.update("k", { state: "lost" });
  await entries.update("k", { state: null, name: "Eve" }, { ifMatch: row.version });
  // @ts-expect-error a row does not do without it
  await entries.update("k", { name: null });
  // @ts-expect-error a replacement is whole
  await entries.update("k", { state: "open" }, { replace: true });
  // @ts-expect-error no such collection
  app.collection("entrees");
  const loose = await app.collection("loose").get("k");
  const anything: unknown = loose.data.whatever;
  interface Own { whatever: number }
  const own: Own = { whatever: 1 };
  await app.collection("loose").create(own);
  // @ts-expect-error an event's data are whole
  await app.events.send("boom");
  await app.events.send("boom", { at: 1 });
  await app.events.send("cheer");
  entries.subscribe((rows) => rows.map((it) => it.data.name.length), { onSync: () => {} });
  app.events.on("cheer", (data) => data.loud === true);
  // @ts-expect-error no such event
  await app.events.send("boo", {});
  const me = await app.me;
  const role: "editor" | null = me.custom_role;
  const may: boolean = await entries.can("delete", row) || await entries.can("update", null);
  // @ts-expect-error no such operation
  await entries.can("fly");
  app.onAuth((it) => console.log(it ? it.id : "nobody", name, state, anything, role, may))();
  const left: never = await app.signIn({ returnTo: "/" });
}
"#;

fn with_schema(schema: &Value) -> Value {
    json!({
        "collections": {
            "entries": {"schema": {"$ref": "#/$defs/Entry"}, "permissions": lists()},
            "loose": {"permissions": lists()},
        },
        "roles": {"editor": {}},
        "events": {
            "cheer": {"schema": {"$ref": "#/$defs/Cheer"}},
            "boom": {"schema": {"$ref": "#/$defs/Boom"}},
        },
        "$defs": {
            "Entry": schema,
            "Cheer": {"type": "object", "properties": {"loud": {"type": "boolean"}}},
            "Boom": {"type": "object", "required": ["at"], "properties": {"at": {"type": "integer"}}},
        },
    })
}

fn lists() -> Value {
    json!({"read": ["anyone"], "write": ["owner"], "delete": ["owner"]})
}

/// What the compiler says of the files in `folder`.
async fn findings(services: &Path, folder: &Path) -> String {
    let ran = Command::new("node")
        .arg("types.mjs")
        .arg(folder)
        .current_dir(services)
        .output()
        .await
        .expect("node runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

#[tokio::test]
async fn the_compiler_knows_an_apps_rows_and_refuses_what_the_schema_would() {
    let Some(services) = services::folder("tests/routes/apps/types.rs").await else { return };
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let manifest = with_schema(&json!({
        "type": "object", "additionalProperties": false, "required": ["name"],
        "properties": {
            "name": {"type": "string", "description": "Its name */ const broken = 1; /*"},
            "state": {"enum": ["open", "done"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "odd \"name": {"type": "integer"},
        },
    }));
    let app = server.deploy(&owner, json!({"manifest": manifest})).await;
    let types = server.get_as(&owner, &app.path("/types.d.ts")).await;
    assert_eq!((types.status, types.header("content-type")), (200, "text/plain; charset=utf-8"));
    assert!(types.text.starts_with(SDK_D_TS));

    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("app.d.ts"), &types.text).expect("a file");
    fs::write(folder.path().join("app.ts"), USAGE).expect("a file");
    assert_eq!(findings(&services, folder.path()).await, "");
    // The compiler does find what is wrong.
    fs::write(folder.path().join("app.ts"), "app.collection(\"nothing\");").expect("a file");
    assert!(findings(&services, folder.path()).await.contains("app.ts:1"));
}

#[tokio::test]
async fn types_follow_the_current_version_and_are_the_owners() {
    let server = TestServer::start().await;
    let owner = server.owner("ada").await;
    let stranger = server.owner("eve").await;
    let app = server.deploy(&owner, json!({"manifest": with_schema(&json!({}))})).await;
    let path = app.path("/types.d.ts");
    let first = server.get_as(&owner, &path).await;
    assert!(first.text.contains(r#""entries": { [member: string]: unknown; };"#));
    let again =
        server.call(Method::GET, &path, &owner).header("if-none-match", first.header("etag"));
    assert_eq!(Answer::of(again).await.status, 304);

    let narrower = with_schema(&json!({"required": ["name"]}));
    let body = json!({"html": crate::harness::apps::HTML, "manifest": narrower});
    server.send(Method::POST, &owner, &app.path("/versions"), &body).await.expect(201);
    let second = server.get_as(&owner, &path).await;
    assert!(second.text.contains(r#""entries": { "name": unknown; [member: string]: unknown; };"#));
    server.get_as(&stranger, &path).await.error(ErrorCode::AppNotFound);
    server.get(&path).await.error(ErrorCode::Unauthorized);
}

/// Any schema, from words that have a type and words that have none.
fn any_schema() -> impl Strategy<Value = Value> {
    let literal = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        Just(json!({"*/": ["</script>", {"\u{2028}": "${x}`"}]})),
    ];
    let kinds = ["null", "boolean", "string", "number", "integer", "array", "object"];
    let kinds = prop::sample::subsequence(kinds.to_vec(), 1..4);
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        kinds.prop_map(|kinds| json!({"type": kinds})),
        literal.clone().prop_map(|value| json!({"const": value})),
        prop::collection::vec(literal, 1..4).prop_map(|values| json!({"enum": values})),
        any::<String>().prop_map(|text| json!({"description": text})),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let many = prop::collection::vec(inner.clone(), 1..4);
        let members = prop::collection::btree_map(any::<String>(), inner.clone(), 0..4);
        prop_oneof![
            (many.clone(), prop::sample::select(vec!["anyOf", "oneOf", "allOf", "prefixItems"]))
                .prop_map(|(schemas, keyword)| json!({keyword: schemas})),
            (inner.clone(), prop::sample::select(vec!["items", "not", "if", "contains"]))
                .prop_map(|(schema, keyword)| json!({keyword: schema})),
            (members, inner, any::<bool>()).prop_map(|(members, rest, named)| {
                let names: Vec<_> = members.keys().filter(|_| named).cloned().collect();
                json!({"properties": members, "required": names, "additionalProperties": rest})
            }),
        ]
    })
}

#[tokio::test]
async fn the_compiler_reads_the_types_of_any_accepted_manifest() {
    let Some(services) = services::folder("tests/routes/apps/types.rs").await else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let (limits, context) = (Limits::default(), ParseContext::default());
    let (mut runner, schemas) = (TestRunner::deterministic(), any_schema());
    let mut written = 0;
    while written < MANIFESTS {
        let schema = schemas.new_tree(&mut runner).expect("a schema").current();
        let value = with_schema(&schema);
        let raw_len = value.to_string().len();
        let Ok(manifest) = manifest::parse(&value, raw_len, &limits, &context) else { continue };
        let text = format!("{SDK_D_TS}\n{}", declarations(&manifest));
        fs::write(folder.path().join(format!("{written}.d.ts")), text).expect("a file");
        written += 1;
    }
    assert_eq!(findings(&services, folder.path()).await, "");
}
