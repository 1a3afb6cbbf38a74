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
    ambiguity::repeats_repetitions, ecma::translated,
};

/// Compiled bytes that are tried first; each further try has twice as many.
const FIRST_TRY_BYTES: usize = 8 << 10;
/// Bytes that all tries for one manifest may take.
const TRIAL_BYTES_MAX: usize = 64 << 20;
/// Characters of the longest text that [`effort`] counts the steps of. Rows may have longer ones where
/// an operator allows it; of these it tells the steps of each character.
pub(super) const TEXT_MAX: u64 = 64 << 10;
/// Parts that are counted of the patterns of one manifest, each repetition one and each character of a
/// text; [`effort`] counts as many of a single pattern. What has been compiled has fewer.
const PARTS_MAX: u64 = 16 << 20;

/// What a pattern costs.
struct Cost {
    /// Compiled bytes, rounded up to a power of two.
    bytes: usize,
    /// Steps of matching it against the longest text.
    steps: u64,
}

/// What matching a pattern takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Effort {
    /// Steps for a text of [`TEXT_MAX`] characters.
    pub(super) steps: u64,
    /// Steps for one character, where the most parts are under way.
    pub(super) width: u64,
}

impl Effort {
    pub(super) const fn add(&mut self, other: Self) {
        self.steps = self.steps.saturating_add(other.steps);
        self.width = self.width.saturating_add(other.width);
    }
}

/// What the patterns of one manifest may still cost, of all its schemas together.
#[derive(Debug)]
pub struct Trials {
    bytes_left: usize,
    parts_left: u64,
}

impl Default for Trials {
    fn default() -> Self {
        Self { bytes_left: TRIAL_BYTES_MAX, parts_left: PARTS_MAX }
    }
}

impl Trials {
    const fn are_over(&self) -> bool {
        self.bytes_left == 0 || self.parts_left == 0
    }
}

/// Checks the patterns of one schema and answers how many bytes the largest of them takes compiled,
/// at most. A text has at most `text_max` characters. What is counted and compiled to find out is taken
/// from `trials`.
///
/// # Errors
/// Those that cannot be used, and the first that costs too much, together with those before it or of
/// itself. What comes behind that one is not looked at.
pub(super) fn check(
    patterns: &[Pattern],
    text_max: usize,
    trials: &mut Trials,
) -> Result<usize, Vec<Fault>> {
    let mut faults = Vec::new();
    let mut fault = |pattern: &Pattern, message| {
        faults.push(Fault { pointer: pattern.pointer.clone(), message });
    };
    let (mut bytes, mut steps, mut largest) = (0, 0, 0);
    for pattern in patterns {
        if trials.are_over() {
            fault(pattern, too_many());
            break;
        }
        let cost = match cost(&pattern.text, text_max as u64, trials) {
            Ok(cost) => cost,
            Err(Refusal::Unusable(message)) => {
                fault(pattern, message);
                continue;
            }
            Err(Refusal::TooCostly(message)) => {
                fault(pattern, message);
                break;
            }
        };
        bytes += cost.bytes;
        steps += cost.steps;
        largest = largest.max(cost.bytes);
        if bytes > PATTERN_BYTES_MAX || steps > PATTERN_STEPS_MAX {
            fault(pattern, if steps > PATTERN_STEPS_MAX { too_slow() } else { too_large() });
            break;
        }
    }
    if faults.is_empty() { Ok(largest) } else { Err(faults) }
}

/// What matching `pattern` takes, where it can be used.
pub(super) fn effort(pattern: &str) -> Effort {
    let parsed = parsed(pattern).ok();
    // Also of one that takes too many steps for a long text the width is needed: rows may be short.
    parsed.map_or_else(Effort::default, |(_, hir)| {
        Count::of(&hir, TEXT_MAX, u64::MAX, PARTS_MAX).effort()
    })
}

/// Why a pattern is refused.
enum Refusal {
    /// It cannot be used, which took little to find out.
    Unusable(String),
    /// It costs more than there is left.
    TooCostly(String),
}

fn cost(pattern: &str, text_max: u64, trials: &mut Trials) -> Result<Cost, Refusal> {
    let (translated, hir) = parsed(pattern).map_err(Refusal::Unusable)?;
    if repeats_repetitions(&hir) {
        return Err(Refusal::Unusable(ambiguous()));
    }
    let counted = Count::of(&hir, text_max, PATTERN_STEPS_MAX, trials.parts_left);
    trials.parts_left = trials.parts_left.saturating_sub(counted.parts);
    let steps = counted.steps;
    if steps > PATTERN_STEPS_MAX {
        return Err(Refusal::TooCostly(too_slow()));
    }
    if trials.parts_left == 0 {
        return Err(Refusal::TooCostly(too_many()));
    }
    let bytes = compiled_bytes(&translated, trials).map_err(Refusal::TooCostly)?;
    Ok(Cost { bytes, steps })
}

/// A pattern for the engine, and as it is read.
///
/// # Errors
/// Says why it cannot be used.
fn parsed(pattern: &str) -> Result<(String, Hir), String> {
    let pattern = translated(pattern);
    let translated = jsonschema_regex::to_rust_regex(&pattern).map_err(|()| not_read())?;
    let hir = regex_syntax::parse(&translated).map_err(|_| not_read())?;
    Ok((translated.into_owned(), hir))
}

fn not_read() -> String {
    "is not a pattern that is understood here: it is malformed, or has look-around, a back reference or \
     another form that a linear-time engine lacks"
        .to_owned()
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

fn too_many() -> String {
    "makes the patterns of all schemas together take too much memory or time: repeat less, and bound \
     texts by maxLength"
        .to_owned()
}

fn too_slow() -> String {
    "makes matching the schema's patterns take too long: begin it with ^, or repeat less".to_owned()
}

/// How many bytes a pattern takes when it is compiled.
///
/// # Errors
/// Says whose bytes do not suffice: those of a schema, or those of all that is tried.
fn compiled_bytes(translated: &str, trials: &mut Trials) -> Result<usize, String> {
    let mut limit = FIRST_TRY_BYTES;
    while limit <= PATTERN_BYTES_MAX {
        let Some(left) = trials.bytes_left.checked_sub(limit) else {
            trials.bytes_left = 0;
            return Err(too_many());
        };
        trials.bytes_left = left;
        let mut builder = RegexBuilder::new(translated);
        if builder.size_limit(limit).dfa_size_limit(PATTERN_CACHE_BYTES).build().is_ok() {
            return Ok(limit);
        }
        limit *= 2;
    }
    Err(too_large())
}

/// Where in a text a part of a pattern may begin, in characters.
#[derive(Debug, Clone, Copy)]
struct Span {
    first: u64,
    last: u64,
}

struct Count {
    steps: u64,
    parts: u64,
    steps_max: u64,
    parts_max: u64,
    text_max: u64,
    /// By how many more parts are under way at a place than at the one before.
    changes: Vec<i64>,
}

impl Count {
    /// Counts until there are more than `steps_max`, or `parts_max` parts were looked at.
    fn of(hir: &Hir, text_max: u64, steps_max: u64, parts_max: u64) -> Self {
        let changes = Vec::new();
        let mut count = Self { steps: 0, parts: 0, steps_max, parts_max, text_max, changes };
        let anchored = hir.properties().look_set_prefix().contains(Look::Start);
        count.walk(hir, Span { first: 0, last: if anchored { 0 } else { text_max } });
        count
    }

    fn effort(&self) -> Effort {
        let under_way = self.changes.iter().scan(0, |parts, change| {
            *parts += change;
            Some(*parts)
        });
        let width = under_way.max().unwrap_or(0);
        Effort { steps: self.steps, width: width.max(1).unsigned_abs() }
    }

    const fn is_over(&self) -> bool {
        self.steps > self.steps_max || self.parts >= self.parts_max
    }

    /// Counts the steps of `hir`, which begins within `span`, and answers where it may end. Gives
    /// up once there are too many.
    fn walk(&mut self, hir: &Hir, span: Span) -> Span {
        self.steps = self.steps.saturating_add(1);
        self.parts += 1;
        if self.is_over() {
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
        self.parts += 1;
        let places = (span.last - span.first + 1).min(self.text_max);
        self.steps = self.steps.saturating_add(places);
        self.change(span.first, 1);
        self.change(span.last + 1, -1);
        let next = |place: u64| (place + 1).min(self.text_max);
        Span { first: next(span.first), last: next(span.last) }
    }

    /// Notes that parts begin or end to be under way at `place`. Those that begin at the end of the
    /// text or behind it are all under way there; none ends.
    fn change(&mut self, place: u64, parts: i64) {
        let end = self.text_max.min(TEXT_MAX);
        if place < end || parts > 0 {
            let place = place.min(end) as usize;
            if self.changes.len() <= place {
                self.changes.resize(place + 1, 0);
            }
            self.changes[place] += parts;
        }
    }

    /// The engine has a copy of what is repeated for each time.
    fn repetition(&mut self, of: &Repetition, span: Span) -> Span {
        let mut end = span;
        let mut copy = span;
        for time in 0..of.max.unwrap_or(of.min) {
            if self.is_over() {
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
