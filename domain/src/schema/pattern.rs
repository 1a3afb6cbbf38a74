//! What a pattern of a schema costs, before it is compiled for use: bytes of memory, and steps of
//! matching it against the longest text that a row can hold.
//!
//! The engine takes time in proportion to the text times the parts of the pattern that may be under
//! way at once. `^[a-z]{1,40}$` has one part under way at each character; `a.{3000}b`, which may
//! begin anywhere, has thousands, and takes seconds for a single text. The count here is an upper
//! bound. What is not here: the bounds of a whole schema (`schema`).

use regex::RegexBuilder;
use regex_syntax::hir::{Hir, HirKind, Look, Repetition};

use super::{
    Fault, PATTERN_BYTES_MAX, PATTERN_CACHE_BYTES, PATTERN_STEPS_MAX, Pattern,
    ambiguity::repeats_repetitions,
};

/// Compiled bytes that are tried first; each further try has twice as many.
const FIRST_TRY_BYTES: usize = 8 << 10;

/// What a pattern costs.
struct Cost {
    /// Compiled bytes, rounded up to a power of two.
    bytes: usize,
    /// Steps of matching it against the longest text.
    steps: u64,
}

/// Checks the patterns of one schema and answers how many bytes the largest of them takes compiled,
/// at most. A text has at most `text_max` characters.
///
/// # Errors
/// Those that cannot be used, and the first that costs too much together with those before it. What
/// comes behind that one is not looked at.
pub fn check(patterns: &[Pattern], text_max: usize) -> Result<usize, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut fault = |pattern: &Pattern, message| {
        faults.push(Fault { pointer: pattern.pointer.clone(), message });
    };
    let (mut bytes, mut steps, mut largest) = (0, 0, 0);
    for pattern in patterns {
        match cost(&pattern.text, text_max as u64) {
            Ok(cost) => {
                bytes += cost.bytes;
                steps += cost.steps;
                largest = largest.max(cost.bytes);
            }
            Err(message) => fault(pattern, message),
        }
        if bytes > PATTERN_BYTES_MAX || steps > PATTERN_STEPS_MAX {
            fault(pattern, if steps > PATTERN_STEPS_MAX { too_slow() } else { too_large() });
            break;
        }
    }
    if faults.is_empty() { Ok(largest) } else { Err(faults) }
}

/// # Errors Says why it cannot be used.
fn cost(pattern: &str, text_max: u64) -> Result<Cost, String> {
    let translated = jsonschema_regex::to_rust_regex(pattern).map_err(|()| not_linear())?;
    let hir = regex_syntax::parse(&translated).map_err(|_| not_linear())?;
    if repeats_repetitions(&hir) {
        return Err(ambiguous());
    }
    let bytes = compiled_bytes(&translated).ok_or_else(too_large)?;
    let mut count = Count { steps: 0, text_max };
    let anchored = hir.properties().look_set_prefix().contains(Look::Start);
    count.walk(&hir, Span { first: 0, last: if anchored { 0 } else { text_max } });
    Ok(Cost { bytes, steps: count.steps })
}

fn not_linear() -> String {
    "is not a pattern of ECMA 262 without look-around and back references".to_owned()
}

fn ambiguous() -> String {
    "repeats what repeats itself, as (a+)+ does: the same text can be taken in too many ways for \
     engines that try them all"
        .to_owned()
}

fn too_large() -> String {
    format!(
        "makes the schema's patterns take more than {PATTERN_BYTES_MAX} bytes compiled: repeat less, \
         and bound texts by maxLength"
    )
}

fn too_slow() -> String {
    "makes matching the schema's patterns take too long: begin it with ^, or repeat less".to_owned()
}

/// `None` beyond [`PATTERN_BYTES_MAX`].
fn compiled_bytes(translated: &str) -> Option<usize> {
    let mut limit = FIRST_TRY_BYTES;
    while limit <= PATTERN_BYTES_MAX {
        let mut builder = RegexBuilder::new(translated);
        if builder.size_limit(limit).dfa_size_limit(PATTERN_CACHE_BYTES).build().is_ok() {
            return Some(limit);
        }
        limit *= 2;
    }
    None
}

/// Where in a text a part of a pattern may begin, in characters.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: u64,
    last: u64,
}

struct Count {
    steps: u64,
    text_max: u64,
}

impl Count {
    /// Counts the steps of `hir`, which begins within `span`, and answers where it may end. Gives
    /// up once there are too many.
    fn walk(&mut self, hir: &Hir, span: Span) -> Span {
        self.steps += 1;
        if self.steps > PATTERN_STEPS_MAX {
            return span;
        }
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => span,
            HirKind::Class(_) => self.character(span),
            HirKind::Literal(literal) => {
                let characters = String::from_utf8_lossy(&literal.0).chars().count();
                (0..characters).fold(span, |span, _| self.character(span))
            }
            HirKind::Capture(capture) => self.walk(&capture.sub, span),
            HirKind::Concat(parts) => parts.iter().fold(span, |span, part| self.walk(part, span)),
            HirKind::Alternation(branches) => {
                let ends = branches.iter().map(|branch| self.walk(branch, span));
                let all = ends
                    .reduce(|a, b| Span { first: a.first.min(b.first), last: a.last.max(b.last) });
                all.unwrap_or(span)
            }
            HirKind::Repetition(repetition) => self.repetition(repetition, span),
        }
    }

    /// One character of the text, which is tried at every place of `span`.
    fn character(&mut self, span: Span) -> Span {
        self.steps += (span.last - span.first + 1).min(self.text_max);
        let next = |place: u64| (place + 1).min(self.text_max);
        Span { first: next(span.first), last: next(span.last) }
    }

    /// The engine has a copy of what is repeated for each time.
    fn repetition(&mut self, of: &Repetition, span: Span) -> Span {
        let mut end = span;
        let mut copy = span;
        for time in 0..of.max.unwrap_or(of.min) {
            if self.steps > PATTERN_STEPS_MAX {
                return end;
            }
            copy = self.walk(&of.sub, copy);
            // Times beyond the least number may be left out.
            end = Span { first: if time < of.min { copy.first } else { end.first }, ..copy };
        }
        if of.max.is_some() {
            return end;
        }
        // Without an end it may begin again at any later place.
        let anywhere = Span { last: self.text_max, ..end };
        self.walk(&of.sub, anywhere);
        anywhere
    }
}
