//! The generated document, read as a list of operations: what each route asks for, what it may
//! answer, and a body that it takes.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use crate::harness::{Answer, TestServer};

/// Headers that an answer has only where the document says so.
const TOLD_HEADERS: &[&str] = &[
    "etag",
    "location",
    "retry-after",
    "row-existed",
    "idempotent-replayed",
    "ratelimit",
    "ratelimit-policy",
    "www-authenticate",
    "x-request-id",
    "x-service-screenshot-source",
];
/// Those of them that are on every answer of which they are told.
const ALWAYS: &[&str] = &[
    "etag",
    "location",
    "retry-after",
    "ratelimit",
    "ratelimit-policy",
    "www-authenticate",
    "x-request-id",
    "x-service-screenshot-source",
];

/// One route and verb of the document.
#[derive(Debug)]
pub struct Operation {
    pub method: Method,
    /// With its parameters as `{name}`.
    pub template: String,
    /// The credentials that open it; none for a public route.
    pub schemes: Vec<String>,
    /// Who that is, in the document's words.
    pub who: String,
    /// The error codes that it may answer, by status.
    pub codes: BTreeMap<u16, Vec<String>>,
    /// What a success answers as JSON, by status.
    pub shapes: BTreeMap<u16, Value>,
    /// The headers of its answers in lower case, by status.
    pub headers: BTreeMap<u16, Vec<String>>,
    /// Whether it takes a body.
    pub takes_body: bool,
    /// The whole numbers among the members of its body, and of the entries of its lists (`keys[].if_match`).
    pub integers: Vec<Integer>,
    /// The parameters of its query.
    pub query: Vec<String>,
}

/// Every operation, and the document that they stand in.
pub async fn read(server: &TestServer) -> (Value, Vec<Operation>) {
    let document = server.get("/v1/openapi.json").await.expect(200);
    let mut operations = Vec::new();
    for (template, item) in document["paths"].as_object().expect("paths") {
        for (verb, operation) in item.as_object().expect("a path") {
            if let Ok(method) = Method::from_bytes(verb.to_uppercase().as_bytes())
                && operation.is_object()
            {
                operations.push(Operation::of(method, template, operation, &document));
            }
        }
    }
    assert!(operations.len() > 100, "only {} operations", operations.len());
    (document, operations)
}

impl Operation {
    fn of(method: Method, template: &str, operation: &Value, document: &Value) -> Self {
        let text = operation["description"].as_str().expect("a description");
        let (_, who) = text.rsplit_once("Who: ").expect("who may call it");
        let schemes = operation["security"].as_array().expect("security").iter();
        let schemes = schemes.filter_map(|one| one.as_object()?.keys().next().cloned());
        let (mut codes, mut shapes) = (BTreeMap::new(), BTreeMap::new());
        let mut headers = BTreeMap::new();
        for (status, response) in operation["responses"].as_object().expect("responses") {
            let status: u16 = status.parse().expect("a status");
            let shared = response["$ref"].as_str().map(|target| target.trim_start_matches('#'));
            let shared = shared.map(|target| document.pointer(target).expect("an answer"));
            let response = shared.unwrap_or(response);
            let names = response["headers"].as_object().into_iter().flatten();
            headers.insert(status, names.map(|(name, _)| name.to_lowercase()).collect());
            let shape = &response["content"]["application/json"]["schema"];
            if status < 300 && !shape.is_null() {
                shapes.insert(status, shape.clone());
            } else if status >= 400 {
                let words = response["description"].as_str().expect("its codes").split('`');
                codes.insert(status, words.skip(1).step_by(2).map(str::to_owned).collect());
            }
        }
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let query = parameters.filter(|parameter| parameter["in"] == "query");
        let query = query.map(|one| one["name"].as_str().expect("a name").to_owned());
        Self {
            method,
            template: template.to_owned(),
            query: query.collect(),
            schemes: schemes.collect(),
            who: who.to_owned(),
            codes,
            shapes,
            headers,
            takes_body: !operation["requestBody"].is_null(),
            integers: {
                let body = &operation["requestBody"]["content"]["application/json"]["schema"];
                let mut found = Vec::new();
                integers(body, "", document, &mut found);
                found
            },
        }
    }

    pub fn accepts(&self, scheme: &str) -> bool {
        self.schemes.iter().any(|one| one == scheme)
    }

    /// Whether it answers a code.
    pub fn tells(&self, code: &str) -> bool {
        self.codes.values().flatten().any(|one| one == code)
    }

    pub fn is_safe(&self) -> bool {
        self.method == Method::GET
    }

    /// Whether it is about something that somebody has.
    pub fn has_subject(&self) -> bool {
        self.template.starts_with("/v1/") && self.template.contains('{')
    }

    pub fn on_app_origin(&self) -> bool {
        self.template.starts_with("/s/")
    }

    /// What an answer says that the document does not; `None` when all is well.
    pub fn undocumented(&self, document: &Value, answer: &Answer) -> Option<String> {
        let status = answer.status;
        let told = self.headers.get(&status).map(Vec::as_slice).unwrap_or_default();
        for name in TOLD_HEADERS {
            let told = told.iter().any(|one| one == name);
            let there = answer.headers.contains_key(*name);
            if there && !told || told && !there && ALWAYS.contains(name) {
                return Some(format!("{status}: {name} is there: {there}, and told: {told}"));
            }
        }
        if status >= 400 {
            let code = answer.json()["error"]["code"].as_str().unwrap_or_default().to_owned();
            let known = self.codes.get(&status).is_some_and(|codes| codes.contains(&code));
            let refused = status < 500 || status == 501;
            return (!known || !refused).then(|| format!("{status} {code}: {}", answer.text));
        }
        if status == 201 && !answer.header("location").contains('/') {
            return Some(format!("201 without Location: {}", answer.text));
        }
        let Some(shape) = self.shapes.get(&status) else {
            return (!answer.text.is_empty() && answer.header("content-type").contains("json"))
                .then(|| {
                    format!("{status} with a body that no schema describes: {}", answer.text)
                });
        };
        let mut schema = shape.clone();
        schema["components"] = document["components"].clone();
        let validator = jsonschema::draft202012::new(&schema).expect("the document's schema");
        let body = answer.json();
        let errors: Vec<_> = validator
            .iter_errors(&body)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        (!errors.is_empty()).then(|| format!("{status}: {}: {body}", errors.join("; ")))
    }
}

/// A whole number of a body.
#[derive(Debug)]
pub struct Integer {
    /// The names that lead to it.
    pub name: String,
    /// The least that it may be.
    pub minimum: i64,
    /// The most.
    pub maximum: i64,
}

/// The whole numbers that a schema describes.
fn integers(schema: &Value, name: &str, document: &Value, found: &mut Vec<Integer>) {
    if let Some(target) = schema["$ref"].as_str() {
        let target = document.pointer(target.trim_start_matches('#')).expect("a schema");
        return integers(target, name, document, found);
    }
    let kinds = &schema["type"];
    if kinds == "integer" || kinds.as_array().is_some_and(|all| all.contains(&json!("integer"))) {
        let bound = |keyword: &str| schema[keyword].as_i64().expect("a bound");
        let (minimum, maximum) = (bound("minimum"), bound("maximum"));
        found.push(Integer { name: name.to_owned(), minimum, maximum });
    }
    for (member, schema) in schema["properties"].as_object().into_iter().flatten() {
        let dot = if name.is_empty() { "" } else { "." };
        integers(schema, &format!("{name}{dot}{member}"), document, found);
    }
    for one in ["oneOf", "anyOf", "allOf"].iter().filter_map(|all| schema[all].as_array()).flatten()
    {
        integers(one, name, document, found);
    }
    if schema["items"].is_object() {
        integers(&schema["items"], &format!("{name}[]"), document, found);
    }
}

/// A body that the operation takes; `{}` where nothing must be in it.
pub fn body_of(operation: &Operation) -> Value {
    let Operation { method, template, .. } = operation;
    let row = json!({"data": {"of": "somebody"}});
    match (method.as_str(), template.as_str()) {
        ("POST", "/v1/agents/claim") => json!({"code": "WDJB-MJHT"}),
        ("POST", "/v1/apps") => json!({"html": "<p>new</p>"}),
        ("PATCH", "/v1/apps/{id}") => json!({"timezone": "Europe/Berlin"}),
        ("POST", "/v1/apps/{id}/versions") => json!({"html": "<p>again</p>"}),
        ("POST", "/v1/apps/{id}/migration-mode") => json!({"on": true}),
        ("POST", "/v1/apps/{id}/members") => json!({"email": "new@example.com"}),
        ("PATCH", "/v1/apps/{id}/members/{human_id}") => json!({"custom_role": "editor"}),
        ("POST", "/v1/apps/{id}/grants") => json!({"role": "editor"}),
        ("POST", "/v1/apps/{id}/credentials") => {
            json!({"collections": ["board"], "operations": ["read"]})
        }
        ("POST", "/v1/apps/{id}/transfer") => json!({"email": "heir@example.com"}),
        ("PATCH", "/v1/apps/{id}/collections/{name}/retention") => json!({"max_rows": 100}),
        (_, path) if path.ends_with("/events") => json!({"type": "ping", "data": {}}),
        ("POST", path) if path.ends_with("/collections/{name}") => row,
        ("POST", path) if path.ends_with("/batch") => json!({"rows": [row]}),
        ("DELETE", path) if path.ends_with("/batch") => json!({"keys": ["row", "none"]}),
        ("PATCH", path) if path.ends_with("/collections/{name}/{key}") => row,
        ("POST", "/v1/auth/request-link") => json!({"email": "somebody@example.com"}),
        ("POST", "/v1/device/token") => json!({"device_code": "none"}),
        ("POST" | "PATCH", "/v1/orgs" | "/v1/orgs/{id}") => json!({"name": "Crew"}),
        ("POST", "/v1/orgs/{id}/members") => json!({"email": "admin@example.com"}),
        ("PATCH", "/v1/orgs/{id}/members/{human_id}") => json!({"role": "member"}),
        ("DELETE", "/v1/self") => json!({"confirm_email": "nobody@example.com"}),
        ("PATCH", "/v1/self/agents/{id}") => json!({"name": "robot"}),
        ("PUT", "/v1/self/marketing-consent") => json!({"marketing_consent": true}),
        ("PATCH", "/v1/self/profile") => json!({"name": "Somebody"}),
        ("POST", "/v1/self/signup-source") => json!({"source": "a friend"}),
        _ => json!({}),
    }
}
