//! The guides of `docs/` as pages and as they are written: agents read Markdown, people pages.

use askama::Template;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, html};

use crate::pages::packed::Packed;

/// A guide, ready to be handed out.
#[derive(Debug, Clone)]
pub struct Guide {
    /// The page.
    pub page: Packed,
    /// Its Markdown.
    pub markdown: Packed,
}

#[derive(Template)]
#[template(path = "reference/guide.html")]
struct GuidePage<'a> {
    title: &'a str,
    content: String,
}

impl Guide {
    /// The guide that `markdown` is, which begins with its title.
    pub(super) fn of(markdown: &'static str) -> Self {
        let title = markdown.lines().next().unwrap_or_default().trim_start_matches("# ");
        let mut content = String::with_capacity(markdown.len() * 2);
        html::push_html(
            &mut content,
            Parser::new_ext(markdown, Options::ENABLE_TABLES).map(reachable),
        );
        let page = GuidePage { title, content };
        Self { page: super::reference::rendered(&page), markdown: Packed::new(markdown.to_owned()) }
    }
}

/// Whoever has no mouse can scroll what is wider than a phone.
fn reachable(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented)) => {
            Event::Html("<pre tabindex=\"0\"><code>".into())
        }
        event => event,
    }
}
