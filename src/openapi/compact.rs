//! The API in one short Markdown document, for whoever reads it with a language model: each
//! operation with who may ask, what is to be known of it, what it takes and what it answers, then the
//! types and the conventions. It is written straight from the OpenAPI document, of which nothing is copied.

use std::{
    collections::BTreeSet,
    fmt::{Display, Write as _},
};

use utoipa::openapi::{
    Content, Deprecated, OpenApi, Ref, RefOr, Required, Response, Schema, Type,
    path::{Operation, Parameter, ParameterIn},
    request_body::RequestBody,
    schema::{AdditionalProperties, ArrayItems, Object, SchemaType},
};
use utoipa::{Number, ToSchema as _};

use super::{PAGE, reference::operations, shapes::AnyObject};

/// The hand-written part: what holds for many operations.
const CONVENTIONS: &str = include_str!("conventions.md");

/// What the document gives as the bound of numbers that have none of their own.
const UNBOUNDED: i128 = i64::MAX as i128;

/// What ends a description: who may ask (`operation::describe`).
const WHO: &str = "Who: ";

/// The document. `public_url` is the site's address.
pub(super) fn markdown(document: &OpenApi, public_url: &str) -> String {
    let mut writer = Compact { document, named: BTreeSet::new(), out: String::new() };
    writer.document(public_url);
    writer.out
}

struct Compact<'a> {
    document: &'a OpenApi,
    /// Types that were named, which the document has to show.
    named: BTreeSet<&'a str>,
    out: String,
}

impl<'a> Compact<'a> {
    /// Appends a line. Writing to memory does not fail.
    fn line(&mut self, line: impl Display) {
        let _ = writeln!(self.out, "{line}");
    }

    fn document(&mut self, public_url: &str) {
        self.line(format_args!(
            "# API\n\nBase address: {public_url}; a path that begins with `/s/` stands behind `url` of \
             an app's record. Types are written as in TypeScript, `1..90` for a whole number within \
             these bounds; a parameter without one is text, `body?` may be left out, and the last \
             line is the answer. The errors of each operation are in {public_url}/v1/openapi.json."
        ));
        let document = self.document;
        for tag in document.tags.iter().flatten() {
            let about = tag.description.as_deref().unwrap_or_default();
            self.line(format_args!("\n## {}\n\n{about}", tag.name));
            for (path, item) in &document.paths.paths {
                for (method, operation) in operations(item) {
                    if operation.tags.iter().flatten().any(|name| *name == tag.name) {
                        self.operation(method, path, operation);
                    }
                }
            }
        }
        self.types();
        self.line(format_args!("\n{}", CONVENTIONS.trim_end()));
    }

    fn operation(&mut self, method: &str, path: &str, operation: &'a Operation) {
        let description = operation.description.as_deref().unwrap_or_default();
        let (about, who) = description.rsplit_once(WHO).unwrap_or((description, ""));
        let who = who.trim();
        let summary = operation.summary.as_deref().unwrap_or_default();
        let stop = if summary.ends_with(['.', '?']) { "" } else { "." };
        self.line(format_args!("\n### {method} {path}\n{summary}{stop} For: {who}"));
        if !about.trim().is_empty() {
            self.line(on_one_line(about));
        }
        for (place, name) in [(ParameterIn::Query, "query"), (ParameterIn::Header, "headers")] {
            let parameters = operation.parameters.iter().flatten();
            let parameters = parameters.filter_map(|parameter| match parameter {
                RefOr::T(parameter) if parameter.parameter_in == place => Some(parameter),
                _ => None,
            });
            let listed: Vec<_> = parameters.map(|parameter| self.parameter(parameter)).collect();
            if !listed.is_empty() {
                self.line(format_args!("- {name}: `{}`", listed.join(", ")));
            }
        }
        if let Some(RefOr::T(body)) = &operation.request_body {
            self.body(body);
        }
        let answers = operation.responses.responses.iter();
        let answers: Vec<_> = answers
            .filter(|(status, _)| status.starts_with(['2', '3']) && *status != "304")
            .map(|(status, response)| self.answer(status, response))
            .collect();
        self.line(format_args!("- {}", answers.join(", or ")));
    }

    fn parameter(&mut self, parameter: &'a Parameter) -> String {
        let optional = if parameter.required == Required::True { "" } else { "?" };
        let kind = parameter.schema.as_ref().map(|schema| self.ty(schema)).unwrap_or_default();
        match kind.trim_end_matches("|null") {
            "" | "string" => format!("{}{optional}", parameter.name),
            kind => format!("{}{optional}: {kind}", parameter.name),
        }
    }

    /// What a body is made of; the members of a named type are shown in its place.
    fn body(&mut self, body: &'a RequestBody) {
        let mut kinds = Vec::new();
        let mut shown = None;
        for (kind, content) in &body.content {
            let RefOr::T(Content { schema: Some(schema), .. }) = content else { continue };
            if kind == "application/json" {
                shown = Some(self.ty(self.resolved(schema)));
            } else {
                kinds.push(format!("`{kind}`"));
            }
        }
        let optional = match body.required {
            Some(Required::True) => "",
            _ => "?",
        };
        let other =
            if kinds.is_empty() { String::new() } else { format!(", or {}", kinds.join(", ")) };
        let shown = shown.map_or_else(String::new, |shown| format!(" `{shown}`"));
        self.line(format_args!("- body{optional}:{shown}{other}"));
    }

    fn answer(&mut self, status: &str, response: &'a RefOr<Response>) -> String {
        let RefOr::T(response) = response else { return status.to_owned() };
        let content = response.content.iter().find_map(|(kind, content)| match content {
            RefOr::T(Content { schema: Some(schema), .. }) => Some((kind, schema)),
            _ => None,
        });
        match content {
            Some((kind, schema)) if kind == "application/json" => {
                format!("{status} `{}`", self.ty(schema))
            }
            Some((kind, _)) => format!("{status} {kind}"),
            None => status.to_owned(),
        }
    }

    /// The types that were named, and those that they name.
    fn types(&mut self) {
        self.line("\n## Types\n");
        let document = self.document;
        let mut shown = BTreeSet::new();
        while let Some(name) = self.named.difference(&shown).next().copied() {
            shown.insert(name);
            let schemas = document.components.iter().map(|components| &components.schemas);
            let schema = schemas.filter_map(|schemas| schemas.get(name)).next();
            let shape = schema.map(|schema| self.ty(schema)).unwrap_or_default();
            let about = schema.map(further).unwrap_or_default();
            self.line(format_args!("- `{name}` = `{shape}`{about}"));
        }
    }

    /// The schema that a reference leads to.
    fn resolved(&self, schema: &'a RefOr<Schema>) -> &'a RefOr<Schema> {
        let RefOr::Ref(reference) = schema else { return schema };
        let components = self.document.components.as_ref();
        components.and_then(|all| all.schemas.get(name_of(reference))).unwrap_or(schema)
    }

    /// Whether a type is a text of some form, as ids are: the form is told in the whole document.
    fn is_plain(&self, schema: &'a RefOr<Schema>) -> bool {
        let RefOr::T(Schema::Object(object)) = self.resolved(schema) else { return false };
        object.schema_type == SchemaType::Type(Type::String) && object.enum_values.is_none()
    }

    /// A schema as a type.
    fn ty(&mut self, schema: &'a RefOr<Schema>) -> String {
        match schema {
            RefOr::Ref(_) if self.is_plain(schema) => "string".to_owned(),
            RefOr::Ref(reference) => self.name(name_of(reference)),
            RefOr::T(Schema::Object(object)) => self.object(object),
            RefOr::T(Schema::Array(array)) => match &array.items {
                ArrayItems::RefOrSchema(items) => {
                    let nullable = admits_null(&array.schema_type);
                    let item = self.ty(items);
                    let item = if item.contains(['|', '&']) { format!("({item})") } else { item };
                    or_null(format!("{item}[]"), nullable)
                }
                ArrayItems::False => "[]".to_owned(),
            },
            RefOr::T(Schema::OneOf(one)) => self.joined(&one.items, "|"),
            RefOr::T(Schema::AnyOf(any)) => self.joined(&any.items, "|"),
            RefOr::T(Schema::AllOf(all)) => self.joined(&all.items, " & "),
            RefOr::T(_) => "any".to_owned(),
        }
    }

    fn joined(&mut self, items: &'a [RefOr<Schema>], with: &str) -> String {
        let mut items: Vec<_> = items.iter().map(|item| self.ty(item)).collect();
        // What may be null says so last.
        items.sort_by_key(|item| item == "null");
        items.join(with)
    }

    fn name(&mut self, name: &'a str) -> String {
        if name == AnyObject::name() {
            return "object".to_owned();
        }
        match name.strip_prefix(PAGE) {
            Some(item) => {
                self.named.insert(item);
                format!("Page<{item}>")
            }
            None => {
                self.named.insert(name);
                name.to_owned()
            }
        }
    }

    fn object(&mut self, object: &'a Object) -> String {
        let nullable = admits_null(&object.schema_type);
        if let Some(values) = &object.enum_values {
            let values: Vec<_> = values.iter().map(ToString::to_string).collect();
            return or_null(values.join("|"), nullable);
        }
        if object.properties.is_empty() {
            return or_null(self.plain(object), nullable);
        }
        let members = object.properties.iter().filter(|(_, schema)| !is_deprecated(schema));
        let members = members.map(|(name, schema)| {
            let needed = object.required.contains(name) || has_second_name(object, name);
            let optional = if needed { "" } else { "?" };
            format!("{name}{optional}: {}", self.ty(schema))
        });
        let members: Vec<_> = members.collect();
        or_null(format!("{{{}}}", members.join(", ")), nullable)
    }

    /// A type without members of its own.
    fn plain(&mut self, object: &'a Object) -> String {
        if let Some(more) = &object.additional_properties
            && let AdditionalProperties::RefOr(value) = &**more
        {
            return format!("{{[name: string]: {}}}", self.ty(value));
        }
        if let (Some(least), Some(most)) =
            (object.minimum.as_ref().and_then(whole), object.maximum.as_ref().and_then(whole))
            && most < UNBOUNDED
        {
            return format!("{least}..{most}");
        }
        match &object.schema_type {
            SchemaType::Type(kind) => word(kind).to_owned(),
            SchemaType::Array(kinds) => {
                let kinds = kinds.iter().filter(|kind| **kind != Type::Null);
                kinds.map(word).collect::<Vec<_>>().join("|")
            }
            SchemaType::AnyValue => "any".to_owned(),
        }
    }
}

/// A description as one line: what its paragraphs say goes on.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What the description of a type says beyond its first paragraph, which the name says too.
fn further(schema: &RefOr<Schema>) -> String {
    let RefOr::T(Schema::Object(object)) = schema else { return String::new() };
    let text = object.description.as_deref().and_then(|text| text.split_once("\n\n"));
    text.map_or_else(String::new, |(_, more)| format!(". {}", on_one_line(more)))
}

/// Whether a member is there for those who have used it before.
fn is_deprecated(schema: &RefOr<Schema>) -> bool {
    matches!(schema, RefOr::T(Schema::Object(object)) if object.deprecated == Some(Deprecated::True))
}

/// Whether a member has to be there unless its second name is (`list_aliases`).
fn has_second_name(object: &Object, name: &str) -> bool {
    let either =
        object.extensions.as_ref().and_then(|more| more.get("allOf")?[0]["oneOf"].as_array());
    either.is_some_and(|either| either.iter().any(|one| one["required"][0] == name))
}

/// Whether `null` is one of several types.
fn admits_null(kind: &SchemaType) -> bool {
    matches!(kind, SchemaType::Array(kinds) if kinds.contains(&Type::Null))
}

fn or_null(text: String, nullable: bool) -> String {
    if nullable { text + "|null" } else { text }
}

/// A bound as a whole number, if it is one.
const fn whole(bound: &Number) -> Option<i128> {
    match bound {
        Number::Int(bound) => Some(*bound as i128),
        Number::UInt(bound) => Some(*bound as i128),
        Number::Float(_) => None,
    }
}

const fn word(kind: &Type) -> &'static str {
    match kind {
        Type::Object => "object",
        Type::String => "string",
        Type::Integer | Type::Number => "number",
        Type::Boolean => "boolean",
        Type::Array => "any[]",
        Type::Null => "null",
    }
}

fn name_of(reference: &Ref) -> &str {
    reference.ref_location.rsplit('/').next().unwrap_or_default()
}
