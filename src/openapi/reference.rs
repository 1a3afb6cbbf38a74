//! The documents about the API, rendered when the first of them is asked for: the JSON, the page that
//! shows it, the same in short, the error reference, the guides, and the short way for agents.

use std::{fmt, sync::LazyLock};

use askama::Template;
use rookery_domain::ErrorCode;
use utoipa::openapi::{
    OpenApi, PathItem, RefOr, Tag,
    path::{Operation, Parameter},
};

use super::{compact, guide::Guide, name_addresses, prose::Prose, to_json};
use crate::pages::packed::Packed;

/// Renders the documents once, and keeps them.
pub struct Reference(LazyLock<Documents, Box<dyn FnOnce() -> Documents + Send>>);

impl Reference {
    /// Of what follows from `document` and the error table. `app_url` is the address of an app, with
    /// `{slug}` for its slug; `takes_agents` is whether they may register themselves.
    #[must_use]
    pub fn of(
        document: OpenApi,
        public_url: &str,
        app_url: &str,
        docs_url: &str,
        takes_agents: bool,
    ) -> Self {
        let [public_url, app_url, docs_url] = [public_url, app_url, docs_url].map(str::to_owned);
        let render = move || {
            let local_host = local_host(&app_url);
            let (public_url, docs_url) = (&*public_url, &*docs_url);
            let llms = rendered(&Llms { public_url, docs_url, local_host, takes_agents });
            Documents::render(document, public_url, &app_url, llms)
        };
        Self(LazyLock::new(Box::new(render)))
    }

    /// The documents, if they are rendered already.
    #[must_use]
    pub fn rendered(&self) -> Option<&Documents> {
        LazyLock::get(&self.0)
    }

    /// The documents. The first call takes tens of milliseconds of a processor.
    pub fn documents(&self) -> &Documents {
        &self.0
    }
}

impl fmt::Debug for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reference").field(&self.rendered()).finish()
    }
}

/// The rendered documents.
#[derive(Debug)]
pub struct Documents {
    /// `/v1/openapi.json`.
    pub openapi: Packed,
    /// `/docs`.
    pub docs: Packed,
    /// `/reference/api.md`.
    pub api_markdown: Packed,
    /// `/reference/errors`.
    pub errors: Packed,
    /// `/reference/errors.md`.
    pub errors_markdown: Packed,
    /// `/llms.txt`.
    pub llms: Packed,
    /// `/reference/manifest`.
    pub manifest: Guide,
    /// `/reference/sdk`.
    pub sdk: Guide,
}

impl Documents {
    fn render(mut document: OpenApi, public_url: &str, app_url: &str, llms: Packed) -> Self {
        name_addresses(&mut document, public_url, app_url);
        let docs = DocsPage {
            title: &document.info.title,
            description: Prose::of(document.info.description.as_deref().unwrap_or_default()),
            groups: groups(&document),
            schemas: schemas(&document),
            public_url,
        };
        let errors = ErrorsPage { codes: ErrorCode::ALL };
        let errors_markdown = ErrorsMarkdown { codes: ErrorCode::ALL };
        Self {
            openapi: Packed::new(to_json(&document)),
            docs: rendered(&docs),
            api_markdown: Packed::new(compact::markdown(&document, public_url)),
            errors: rendered(&errors),
            errors_markdown: rendered(&errors_markdown),
            llms,
            manifest: Guide::of(include_str!("../../docs/MANIFEST.md")),
            sdk: Guide::of(include_str!("../../docs/SDK.md")),
        }
    }
}

/// The templates write to memory and hold no fallible filter.
pub(super) fn rendered(page: &impl Template) -> Packed {
    Packed::new(page.render().unwrap_or_default())
}

#[derive(Template)]
#[template(path = "reference/docs.html")]
struct DocsPage<'a> {
    title: &'a str,
    description: Prose,
    groups: Vec<Group>,
    schemas: Vec<Named>,
    public_url: &'a str,
}

#[derive(Template)]
#[template(path = "reference/errors.html")]
struct ErrorsPage {
    codes: &'static [ErrorCode],
}

#[derive(Template)]
#[template(path = "reference/errors.md", escape = "none")]
struct ErrorsMarkdown {
    codes: &'static [ErrorCode],
}

#[derive(Template)]
#[template(path = "reference/llms.txt", escape = "none")]
struct Llms<'a> {
    public_url: &'a str,
    docs_url: &'a str,
    /// The host of an app, where it is a name below `localhost`.
    local_host: Option<String>,
    /// Whether agents may register themselves.
    takes_agents: bool,
}

/// The host and port of an app at `app_url`, where many programs cannot resolve it: browsers alone
/// lead every name below `localhost` to this machine.
fn local_host(app_url: &str) -> Option<String> {
    let (_, rest) = app_url.split_once("://")?;
    let host = rest.split('/').next()?;
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    name.ends_with(".localhost").then(|| host.replace("{slug}", "<slug>"))
}

/// Operations of one tag.
struct Group {
    name: String,
    about: String,
    entries: Vec<Entry>,
}

/// One operation, as the page shows it.
struct Entry {
    anchor: String,
    method: &'static str,
    path: String,
    summary: String,
    description: Prose,
    auth: Vec<String>,
    parameters: Vec<Field>,
    body: Option<Shape>,
    responses: Vec<Answer>,
}

struct Field {
    name: String,
    place: String,
    required: bool,
    description: Prose,
}

struct Answer {
    status: String,
    description: Prose,
    shape: Option<Shape>,
}

/// The schema of a body: the name of a component, or the schema itself.
struct Shape {
    text: String,
    named: bool,
}

impl Shape {
    const fn is_named(&self) -> bool {
        self.named
    }
}

/// A component.
struct Named {
    name: String,
    json: String,
}

fn schemas(document: &OpenApi) -> Vec<Named> {
    let components = document.components.iter().flat_map(|components| &components.schemas);
    let named = |(name, schema)| Named {
        name: String::clone(name),
        json: serde_json::to_string_pretty(schema).unwrap_or_default(),
    };
    components.map(named).collect()
}

fn groups(document: &OpenApi) -> Vec<Group> {
    let tags = document.tags.iter().flatten();
    let group = |tag: &Tag| Group {
        name: tag.name.clone(),
        about: tag.description.clone().unwrap_or_default(),
        entries: Vec::new(),
    };
    let mut groups: Vec<Group> = tags.map(group).collect();
    for (path, item) in &document.paths.paths {
        for (method, operation) in operations(item) {
            let name = operation.tags.iter().flatten().next().cloned().unwrap_or_default();
            let entry = entry(method, path, operation);
            match groups.iter_mut().find(|group| group.name == name) {
                Some(group) => group.entries.push(entry),
                None => groups.push(Group { name, about: String::new(), entries: vec![entry] }),
            }
        }
    }
    groups
}

pub(super) fn operations(item: &PathItem) -> impl Iterator<Item = (&'static str, &Operation)> {
    let all = [
        ("GET", &item.get),
        ("POST", &item.post),
        ("PUT", &item.put),
        ("PATCH", &item.patch),
        ("DELETE", &item.delete),
    ];
    all.into_iter().filter_map(|(name, operation)| Some((name, operation.as_ref()?)))
}

fn entry(method: &'static str, path: &str, operation: &Operation) -> Entry {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let schemes = operation.security.iter().flatten().map(|requirement| {
        let json = serde_json::to_value(requirement).unwrap_or_default();
        let names = json.as_object().map(|names| names.keys().cloned().collect::<Vec<_>>());
        names.filter(|names| !names.is_empty()).map_or("none".to_owned(), |n| n.join(" and "))
    });
    let body = operation.request_body.as_ref().and_then(schema_of);
    let responses = operation.responses.responses.iter().map(|(status, response)| Answer {
        status: status.clone(),
        description: match response {
            RefOr::T(response) => Prose::of(&response.description),
            RefOr::Ref(_) => Prose::of(""),
        },
        shape: schema_of(response).filter(|shape| shape.text != super::ERROR_SCHEMA),
    });
    Entry {
        anchor: anchor(method, path),
        method,
        path: path.to_owned(),
        summary: text(&operation.summary),
        description: Prose::of(&text(&operation.description)),
        auth: schemes.collect(),
        parameters: operation.parameters.iter().flatten().map(field).collect(),
        body,
        responses: responses.collect(),
    }
}

/// The schema in `content`, whatever holds it.
fn schema_of(holder: &impl serde::Serialize) -> Option<Shape> {
    let json = serde_json::to_value(holder).ok()?;
    let schema = json.get("content")?.as_object()?.values().next()?.get("schema")?;
    Some(match schema.get("$ref").and_then(serde_json::Value::as_str) {
        Some(target) => {
            Shape { text: target.rsplit('/').next().unwrap_or(target).to_owned(), named: true }
        }
        None => {
            Shape { text: serde_json::to_string_pretty(schema).unwrap_or_default(), named: false }
        }
    })
}

fn field(parameter: &RefOr<Parameter>) -> Field {
    let json = serde_json::to_value(parameter).unwrap_or_default();
    let text = |member: &str| {
        json.get(member).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    Field {
        name: text("name"),
        place: text("in"),
        required: json.get("required").and_then(serde_json::Value::as_bool).unwrap_or(false),
        description: Prose::of(&text("description")),
    }
}

fn anchor(method: &str, path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.fold(method.to_ascii_lowercase(), |anchor, word| anchor + "-" + word)
}
