//! The guides of `docs/` as pages and as they are written: agents read Markdown, people pages.

use std::ops::Range;

use askama::Template;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html};

use crate::pages::{document::escape_attribute, packed::Packed};

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
        let events = Parser::new_ext(markdown, Options::ENABLE_TABLES).into_offset_iter();
        let reachable = |(event, place): (_, Range<usize>)| {
            let (above, from) = markdown.split_at(place.start);
            reachable(event, above, from)
        };
        html::push_html(&mut content, events.flat_map(reachable));
        let page = GuidePage { title, content };
        Self { page: super::reference::rendered(&page), markdown: Packed::new(markdown.to_owned()) }
    }
}

/// What is wider than a phone can be scrolled, also without a mouse. A table, which `from` begins
/// with, is named by the heading `above` it and by its first column, which tells it from others
/// below that heading.
fn reachable<'a>(
    event: Event<'a>,
    above: &str,
    from: &str,
) -> impl Iterator<Item = Event<'a>> + use<'a> {
    let (before, event, after) = match event {
        Event::Start(Tag::CodeBlock(_)) => {
            (None, Event::Html("<pre tabindex=\"0\"><code>".into()), None)
        }
        Event::Start(Tag::Table(_)) => {
            let heading = above.lines().rev().find(|line| line.starts_with('#'));
            let heading = heading.unwrap_or_default().trim_start_matches('#').trim();
            let column = from.split('|').map(str::trim).find(|cell| !cell.is_empty());
            let name = format!("{heading}: {}", column.unwrap_or_default()).replace('`', "");
            let name = escape_attribute(&name);
            let region = format!(
                "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{name}\">"
            );
            (Some(Event::Html(region.into())), event, None)
        }
        Event::End(TagEnd::Table) => (None, event, Some(Event::Html("</div>".into()))),
        event => (None, event, None),
    };
    before.into_iter().chain([event]).chain(after)
}
