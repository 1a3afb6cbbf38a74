//! Text that strangers chose, as a page shows it: nothing in it is unseen or turns what stands around
//! it, and what is long is cut where it says something.

use std::fmt::Write as _;

use rookery_domain::text::{cut, turns_direction};

/// Characters that are shown before the first one in which texts differ.
const LEAD_CHARS: usize = 30;

/// The text with characters that nobody sees or that no page may hold, and those that turn the direction of
/// what stands around them, by their numbers; text of which nothing is seen, in quotes.
#[must_use]
pub fn visible(text: &str) -> String {
    let shown = escaped(text);
    if !text.is_empty() && shown.trim().is_empty() {
        return format!("\"{text}\"");
    }
    shown
}

/// The same without the quotes, for text whose blanks are seen. In JSON the numbers are what they are in
/// its own writing.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        let unseen =
            matches!(character, '\u{ad}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{feff}');
        let controls = character.is_control() && !matches!(character, '\t' | '\n' | '\r');
        if unseen || controls || turns_direction(character) {
            let _ = write!(shown, "\\u{:04x}", u32::from(character));
        } else {
            shown.push(character);
        }
    }
    shown
}

/// At most `max` characters of a text that is compared with `others`: those around the first one in which
/// they differ, where that is behind the beginning.
#[must_use]
pub fn cut_to_difference<'a>(
    text: &str,
    others: impl IntoIterator<Item = &'a str>,
    max: usize,
) -> String {
    let alike = others.into_iter().filter(|other| *other != text).map(|other| {
        text.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
    });
    let differs_at = alike.min().unwrap_or_default();
    let from =
        if differs_at + LEAD_CHARS > max { differs_at.saturating_sub(LEAD_CHARS) } else { 0 };
    let start = text.char_indices().nth(from).map_or(text.len(), |(at, _)| at);
    format!("{}{}", if from > 0 { "…" } else { "" }, cut(&text[start..], max))
}
