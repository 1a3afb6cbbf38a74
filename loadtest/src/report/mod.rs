//! One self-contained HTML page of a result: plots as inline SVG, a table beside each, light and
//! dark, no script, nothing from elsewhere.

mod plot;
mod sections;
mod svg;

use crate::result::ResultFile;

const STYLE: &str = include_str!("style.css");

/// The page.
#[must_use]
pub fn html(result: &ResultFile) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>rookery-load: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n",
        title = escape(&result.command),
    );
    sections::write(&mut page, result);
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

/// Text as it stands in HTML, attributes included.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}
