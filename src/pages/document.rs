//! The document an app serves: what its author wrote, with the SDK's script put first in `<head>`;
//! and the manifest that an author may keep inside the document.
//!
//! Both go through a streaming HTML tokenizer, because only a tokenizer knows a `<head>` from one
//! that stands in a comment or in a script's text. What is not here: which headers go with the
//! document (`policy`), and what a manifest means (`rookery_domain::manifest`).

use std::{cell::RefCell, rc::Rc};

use bytes::Bytes;
use lol_html::{
    RewriteStrSettings, Settings, doc_text, element, end,
    html_content::{ContentType, Element, TextChunk},
    rewrite_str, text,
};
use rookery_domain::{Error, Result};

use super::{files_pass::FilesPass, sdk::SDK_PATH};

/// The `id` of the script that may hold the manifest.
const MANIFEST_ELEMENT_ID: &str = "x-service-manifest";

const BOM: char = '\u{feff}';

/// The attribute of the SDK's script that carries a participant's token (`sdk/1-requests.js`).
const PARTICIPANT_ATTRIBUTE: &str = "data-participant";
/// How the SDK's script begins.
const TAG_NAME: &str = "<script";

/// A document with the SDK's script.
#[derive(Debug)]
pub struct Served {
    /// Its text.
    pub html: String,
    /// Where in it the script stands, in bytes.
    pub script_at: usize,
}

/// Where the parser of a browser stands: before the head until something ends that state (HTML
/// standard 13.2.6.4.1-3: comments, white space, doctype and `<html>` do not).
struct Injector {
    tag: String,
    /// Where in what was authored the tag was put.
    at: Option<usize>,
}

impl Injector {
    fn at_element(&mut self, el: &mut Element<'_, '_>) {
        if self.at.is_some() || el.tag_name() == "html" {
            return;
        }
        let start_tag = el.source_location().bytes();
        if el.tag_name() == "head" {
            self.at = Some(start_tag.end);
            el.prepend(&self.tag, ContentType::Html);
        } else {
            // Any other element implies the head; a script that stands before it does the same,
            // and what follows stays in the head if it belongs there.
            self.at = Some(start_tag.start);
            el.before(&self.tag, ContentType::Html);
        }
    }

    fn at_text(&mut self, chunk: &mut TextChunk<'_>) {
        if self.at.is_some() || chunk.as_str().bytes().all(|b| b.is_ascii_whitespace()) {
            return;
        }
        self.at = Some(chunk.source_location().bytes().start);
        chunk.before(&self.tag, ContentType::Html);
    }
}

/// Puts `<script src="{sdk_src}"></script>` where the browser will find it as the first element of
/// the head, whatever the document leaves out, and takes away authored copies of the same script
/// and of a visitor's `<base>`: a document that was saved from a browser and deployed again still
/// has them.
///
/// # Errors
/// `invalid_request` when the tokenizer gives the document up.
pub fn serve(authored: &str, sdk_src: &str) -> Result<Served> {
    let body = authored.strip_prefix(BOM).unwrap_or(authored);
    let bom = &authored[..authored.len() - body.len()];
    let tag = format!("{TAG_NAME} src=\"{}\"></script>", escape_attribute(sdk_src));
    let tag_len = tag.len();
    let state = Rc::new(RefCell::new(Injector { tag, at: None }));
    let (at_element, at_text, at_end) = (state.clone(), state.clone(), state.clone());
    let settings = RewriteStrSettings::new()
        .with_strict(false)
        .append_element_content_handler(element!("*", move |el| {
            at_element.borrow_mut().at_element(el);
            let is_copy = match el.tag_name().as_str() {
                "script" => is_sdk_script(el, sdk_src),
                "base" => el.get_attribute("href").is_some_and(|href| FilesPass::is_base(&href)),
                _ => false,
            };
            if is_copy {
                el.remove();
            }
            Ok(())
        }))
        .append_document_content_handler(doc_text!(move |chunk| {
            at_text.borrow_mut().at_text(chunk);
            Ok(())
        }))
        .append_document_content_handler(end!(move |end| {
            let state = at_end.borrow();
            if state.at.is_none() {
                end.append(&state.tag, ContentType::Html);
            }
            Ok(())
        }));
    let rewritten = rewrite_str(body, settings).map_err(|_| unreadable())?;
    // What stands before the tag is as it was authored.
    let at = state.borrow().at.unwrap_or(rewritten.len() - tag_len);
    Ok(Served { script_at: bom.len() + at, html: format!("{bom}{rewritten}") })
}

/// The document `served`, whose SDK's script stands at `script_at`, with the token of a
/// participant. `files` is the address that the document's own are relative to, if it is not that
/// of the document: its `<base>` comes before any that was authored, so it is the one that counts.
/// In pieces, of which those of the document are not copied.
#[must_use]
pub fn carrying(served: &Bytes, script_at: usize, token: &str, files: Option<&str>) -> [Bytes; 3] {
    let after_name = script_at + TAG_NAME.len();
    let base = files.map(|files| format!("<base href=\"{}\">", escape_attribute(files)));
    let base = base.unwrap_or_default();
    let attribute = format!(" {PARTICIPANT_ATTRIBUTE}=\"{}\"", escape_attribute(token));
    let own = format!("{base}{TAG_NAME}{attribute}");
    [served.slice(..script_at), own.into(), served.slice(after_name..)]
}

fn is_sdk_script(el: &Element<'_, '_>, sdk_src: &str) -> bool {
    el.get_attribute("src").is_some_and(|src| {
        let src = src.trim_matches(|c: char| c.is_ascii_whitespace());
        src == SDK_PATH || src == sdk_src
    })
}

/// A text as the value of an attribute in double quotes.
pub(crate) fn escape_attribute(value: &str) -> String {
    value.replace('&', "&amp;").replace('"', "&quot;")
}

fn unreadable() -> Error {
    Error::invalid("html: the document cannot be read as HTML")
}

/// The text of the document's `<script type="application/json" id="x-service-manifest">`, if it
/// has one. Nothing is said about the text: it may be no JSON.
///
/// # Errors
/// `invalid_request` when there are two of them, or when a script has the id but not the type
/// (a browser would run it, and the deploy would silently miss its manifest).
pub fn extract_embedded_manifest(html: &str) -> Result<Option<String>> {
    let found = Rc::new(RefCell::new(Found::default()));
    let (at_element, at_text) = (found.clone(), found.clone());
    let settings: Settings<'_, '_> = Settings::new()
        .with_strict(false)
        .append_element_content_handler(element!("script", move |el| {
            at_element.borrow_mut().at_script(el);
            Ok(())
        }))
        .append_element_content_handler(text!("script", move |chunk| {
            at_text.borrow_mut().at_text(chunk);
            Ok(())
        }));
    let mut rewriter = lol_html::HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(html.as_bytes()).and_then(|()| rewriter.end()).map_err(|_| unreadable())?;
    let found = found.take();
    if found.wrong_type {
        return Err(Error::invalid(format!(
            "html: the script with id \"{MANIFEST_ELEMENT_ID}\" needs type=\"application/json\""
        )));
    }
    if found.count > 1 {
        return Err(Error::invalid(format!(
            "html: {} scripts have the id \"{MANIFEST_ELEMENT_ID}\"; a document holds one manifest",
            found.count
        )));
    }
    Ok((found.count == 1).then_some(found.text))
}

#[derive(Default)]
struct Found {
    inside: bool,
    count: usize,
    wrong_type: bool,
    text: String,
}

impl Found {
    fn at_script(&mut self, el: &Element<'_, '_>) {
        self.inside = el.get_attribute("id").as_deref() == Some(MANIFEST_ELEMENT_ID);
        if !self.inside {
            return;
        }
        self.count += 1;
        let typed = el.get_attribute("type").unwrap_or_default();
        self.wrong_type |= !typed.trim().eq_ignore_ascii_case("application/json");
    }

    fn at_text(&mut self, chunk: &TextChunk<'_>) {
        if self.inside && self.count == 1 {
            self.text.push_str(chunk.as_str());
        }
    }
}
