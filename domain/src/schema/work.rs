//! How much work it is to check a value, told from the two sizes before anybody does it.
//!
//! A keyword is looked at once for each part of the value that it applies to. Which those are is
//! told by depth: what stands under `items` three levels down applies to parts three levels down, and
//! to no others. So a schema is, for each level, the most that one part there may take, and a value
//! the number of its parts there. The sum of their products is an upper bound, and costs no more than
//! to walk the value once. What is not here: validating.

use serde_json::{Map, Value};

use super::{
    keywords::{self, Holds},
    pattern::{self, Effort},
};

/// Steps that checking one value may take. A plain keyword takes one for each part, which was measured
/// at 2 to 6 ns, so that this is up to 0.4 s.
pub const STEPS_MAX: u64 = 64 << 20;

/// Levels of a value that are told apart; what is deeper counts as if it were at the last.
const LEVELS_MAX: usize = 65;
/// Steps that a pattern takes for one character at one of its parts.
const PATTERN_STEPS: u64 = 4;
/// Steps of asking a pattern or a format at all.
const ASKED: u64 = 16;
/// Steps of dividing a number.
const DIVIDED: u64 = 12;
/// Steps of looking up the name of a member.
const NAMED: u64 = 4;
/// Steps of hashing or comparing one part that is to be unique.
const HASHED: u64 = 8;
/// What is done for each character is counted in so many parts of a step.
const CHARACTER: u64 = 16;
/// Parts of a step that a format takes for each character.
const FORMAT: u64 = 6 * CHARACTER;
/// Parts of a step that one of international names takes.
const IDN_FORMAT: u64 = 3 * FORMAT;

/// The most that one part at a level may take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Level {
    /// Steps, whatever the part is.
    flat: u64,
    /// [`CHARACTER`]s for each of its characters.
    character: u64,
    /// What matching its patterns takes.
    patterns: Effort,
}

/// What a schema asks, by level.
#[derive(Debug, Default)]
pub(super) struct Work(Vec<Level>);

impl Work {
    pub(super) fn of(schema: &Value) -> Self {
        let Value::Object(keywords) = schema else {
            return Self(vec![Level { flat: 1, ..Level::default() }]);
        };
        let mut work = Self::default();
        work.level(0).flat = 1;
        let again = keywords.keys().filter(|keyword| keyword.starts_with("unevaluated")).count();
        for (keyword, rule) in keywords {
            work.keyword(keyword, rule);
        }
        // What stands beside is asked again whether it holds, and again for what it evaluated.
        if again > 0 {
            work.scale(1 + 2 * again as u64);
        }
        // Which named property a part is, only one of them says.
        let mut named = Self::default();
        for schema in members(keywords.get("properties")) {
            named.join(&Self::of(schema), 0, u64::max);
        }
        for keyword in ["additionalProperties", "unevaluatedProperties"] {
            if let Some(rest) = keywords.get(keyword) {
                named.join(&Self::of(rest), 0, u64::max);
            }
        }
        work.join(&named, 1, u64::saturating_add);
        let mut items = Self::default();
        for schema in keywords.get("prefixItems").and_then(Value::as_array).into_iter().flatten() {
            items.join(&Self::of(schema), 0, u64::max);
        }
        for keyword in ["items", "unevaluatedItems"] {
            if let Some(rest) = keywords.get(keyword) {
                items.join(&Self::of(rest), 0, u64::max);
            }
        }
        work.join(&items, 1, u64::saturating_add);
        work
    }

    /// Adds what a keyword asks, but for those of which only one applies to a part.
    fn keyword(&mut self, keyword: &str, rule: &Value) {
        let here = self.level(0);
        match keyword {
            "properties" => here.flat += members(Some(rule)).count() as u64,
            "additionalProperties" | "unevaluatedProperties" => {
                here.flat += 1;
                self.level(1).flat += NAMED;
            }
            "prefixItems" | "items" | "unevaluatedItems" => here.flat += 1,
            "required" | "dependentRequired" | "const" => here.flat += parts(rule),
            // Texts alone are looked up.
            "enum" if only_texts(rule) => here.flat += HASHED,
            "enum" => here.flat += parts(rule),
            "minLength" | "maxLength" => {
                here.flat += 1;
                here.character += 1;
            }
            "format" | "contentEncoding" | "contentMediaType" => {
                let is_international = rule.as_str().is_some_and(|name| name.starts_with("idn-"));
                here.flat += ASKED;
                here.character += if is_international { IDN_FORMAT } else { FORMAT };
            }
            "pattern" => {
                here.flat += ASKED;
                here.patterns.add(pattern::effort(rule.as_str().unwrap_or_default()));
            }
            "multipleOf" => here.flat += DIVIDED,
            "patternProperties" => self.named_by_patterns(rule),
            "uniqueItems" if rule == &Value::Bool(true) => {
                for level in 1..LEVELS_MAX {
                    let below = self.level(level);
                    below.flat += HASHED;
                    below.character += 1;
                }
            }
            "contains" => self.join(&Self::of(rule), 1, u64::saturating_add),
            "propertyNames" => {
                self.level(1).flat += NAMED;
                self.join(&Self::of(rule), 1, u64::saturating_add);
            }
            _ => match (keywords::holds(keyword), rule) {
                (Some(Holds::Schema), schema) => {
                    self.join(&Self::of(schema), 0, u64::saturating_add);
                }
                (Some(Holds::Listed), Value::Array(schemas)) => {
                    for schema in schemas {
                        self.join(&Self::of(schema), 0, u64::saturating_add);
                    }
                }
                (Some(Holds::Named), Value::Object(schemas)) if keyword.starts_with("depend") => {
                    here.flat += schemas.len() as u64;
                    for schema in schemas.values() {
                        self.join(&Self::of(schema), 0, u64::saturating_add);
                    }
                }
                (Some(Holds::Value), _) => here.flat += 1,
                _ => {}
            },
        }
    }

    /// Every name is held against every pattern, and where other members are ruled too once more.
    fn named_by_patterns(&mut self, rule: &Value) {
        for (name, schema) in rule.as_object().unwrap_or(&Map::new()) {
            let names = self.level(1);
            names.flat += 2 * ASKED;
            names.patterns.add(pattern::effort(name));
            names.patterns.add(pattern::effort(name));
            self.join(&Self::of(schema), 1, u64::saturating_add);
        }
    }

    fn level(&mut self, level: usize) -> &mut Level {
        let level = level.min(LEVELS_MAX - 1);
        if self.0.len() <= level {
            self.0.resize(level + 1, Level::default());
        }
        &mut self.0[level]
    }

    /// Joins what is asked `below` so many levels further down.
    fn join(&mut self, other: &Self, below: usize, how: fn(u64, u64) -> u64) {
        for (level, theirs) in other.0.iter().enumerate() {
            let ours = self.level(level + below);
            *ours = Level {
                flat: how(ours.flat, theirs.flat),
                character: how(ours.character, theirs.character),
                patterns: Effort {
                    steps: how(ours.patterns.steps, theirs.patterns.steps),
                    width: how(ours.patterns.width, theirs.patterns.width),
                },
            };
        }
    }

    fn scale(&mut self, times: u64) {
        let own = Self(self.0.clone());
        for _ in 1..times {
            self.join(&own, 0, u64::saturating_add);
        }
    }

    /// Steps that checking `value` takes at most.
    pub(super) fn steps(&self, value: &Value) -> u64 {
        let mut size = vec![Size::default(); self.0.len()];
        measure(value, 0, 0, &mut size);
        self.0.iter().zip(size).map(|(level, size)| level.steps(size)).fold(0, u64::saturating_add)
    }
}

impl Level {
    fn steps(&self, size: Size) -> u64 {
        let patterns = {
            let by_text = self.patterns.width.saturating_mul(size.characters + size.parts);
            let bound = if size.longest > pattern::TEXT_MAX {
                by_text
            } else {
                by_text.min(self.patterns.steps.saturating_mul(size.parts))
            };
            bound.saturating_mul(PATTERN_STEPS)
        };
        let flat = self.flat.saturating_mul(size.parts);
        let characters = self.character.saturating_mul(size.characters) / CHARACTER;
        flat.saturating_add(characters).saturating_add(patterns)
    }
}

/// What a value has at one level.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    parts: u64,
    /// Of texts, and of the names of members.
    characters: u64,
    /// Those of the longest of them.
    longest: u64,
}

impl Size {
    fn text(&mut self, length: usize) {
        self.characters += length as u64;
        self.longest = self.longest.max(length as u64);
    }
}

fn measure(value: &Value, name: usize, level: usize, sizes: &mut [Size]) {
    let last = sizes.len() - 1;
    if level > last && last < LEVELS_MAX - 1 {
        return;
    }
    let size = &mut sizes[level.min(last)];
    size.parts += 1;
    size.text(name);
    match value {
        Value::String(text) => size.text(text.len()),
        Value::Array(items) => items.iter().for_each(|item| measure(item, 0, level + 1, sizes)),
        Value::Object(members) => {
            for (name, member) in members {
                measure(member, name.len(), level + 1, sizes);
            }
        }
        _ => {}
    }
}

fn members(named: Option<&Value>) -> impl Iterator<Item = &Value> {
    named.and_then(Value::as_object).into_iter().flat_map(|named| named.values())
}

/// The parts of a value, itself among them.
fn parts(value: &Value) -> u64 {
    1 + match value {
        Value::Array(items) => items.iter().map(parts).sum(),
        Value::Object(members) => members.values().map(parts).sum(),
        _ => 0,
    }
}

fn only_texts(listed: &Value) -> bool {
    listed.as_array().is_some_and(|items| items.iter().all(Value::is_string))
}
