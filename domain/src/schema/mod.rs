//! Compiled row and event schemas: JSON Schema draft 2020-12, formats asserted.
//!
//! A schema comes from strangers and runs on every write, so its cost is bounded before it is
//! compiled ([`mod@inspect`]): patterns use the linear-time engine and share budgets of memory and of
//! time (`pattern`), references do not exist, and there is no resolver that could open a file or a
//! connection. What is not here: which collection has which schema (`manifest`), and the cache of
//! compiled ones.

mod ambiguity;
mod doubts;
mod ecma;
mod inspect;
mod keywords;
mod multiple;
mod pattern;
mod report;
mod work;

use std::{collections::BTreeSet, sync::Arc};

use jsonschema::ValidationError;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

pub use doubts::{doubts, excludes_objects};
pub use inspect::{
    FAULTS_MAX, Fault, Faults, PATTERN_CHARS_MAX, PATTERNS_MAX, Pattern, SCHEMA_DEPTH_MAX,
    UNEVALUATED_NESTING_MAX, admits_date, admits_field, inspect,
};
pub use pattern::Trials;
pub use work::STEPS_MAX;

use crate::{
    json::canonical,
    manifest::SchemaSource,
    text::{cut, quoted_value},
};
use inspect::survey;
use work::Work;

/// Violations that one validation reports; of the rest it says how many there are.
pub const VIOLATIONS_MAX: usize = 20;
/// Characters of a violation's message that are kept.
pub const VIOLATION_CHARS_MAX: usize = 240;
/// Characters of a pointer into a value or a schema. Cut off it points nowhere, so this is far beyond what
/// people nest and name.
pub const POINTER_CHARS_MAX: usize = 2_048;
/// Bytes of a schema of which all faults of form are told; of a longer one it is the first. All are
/// in memory before the first is read, up to one for each byte.
const ALL_FAULTS_BYTES_MAX: usize = 8 << 10;
/// Compiled bytes that the patterns of a schema may take, each and together.
pub const PATTERN_BYTES_MAX: usize = 4 << 20;
/// Steps that matching all patterns of a schema may take, each against the longest text that a row
/// can hold. A step was measured at 12 to 34 ns, so that this is up to a second.
pub const PATTERN_STEPS_MAX: u64 = 32 << 20;
/// Compiled bytes of each pattern that are tried when a stored schema is compiled: how many there are
/// in all is not known of it. Twice what is admitted, because a dot takes more than it did when only
/// `\n` ended a line, and a version that is in force has to go on.
const PATTERN_BYTES_TRIED: [usize; 5] =
    [16 << 10, 128 << 10, 1 << 20, PATTERN_BYTES_MAX, 2 * PATTERN_BYTES_MAX];
/// Bytes of the transition cache that a pattern may fill while it matches.
const PATTERN_CACHE_BYTES: usize = 256 << 10;

/// One way in which a value does not fit its schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SchemaViolation {
    /// JSON pointer into the value; empty for the value itself.
    pub path: String,
    /// What is wrong. It names the rule and never quotes a value of the data.
    pub message: String,
    /// The schema keyword that was not met.
    pub keyword: String,
}

/// The ways in which a value does not fit its schema: the first of them, never none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    /// Up to [`VIOLATIONS_MAX`].
    pub violations: Vec<SchemaViolation>,
    /// How many more there are.
    pub left_out: usize,
}

/// A schema that is ready to validate. Cheap to share behind an `Arc`, expensive to build.
#[derive(Debug)]
pub struct CompiledSchema {
    validator: jsonschema::Validator,
    text: Arc<str>,
    work: Work,
    weight_bytes: usize,
}

impl CompiledSchema {
    /// Compiles a schema that the manifest has already admitted. Every bound but the row's byte
    /// cap is checked again, so a source from storage costs no more than a new one.
    ///
    /// # Errors
    /// Says, with a JSON pointer into the schema, what keeps it from compiling.
    pub fn compile(source: &SchemaSource) -> Result<Self, String> {
        let schema: Value = serde_json::from_str(&source.text)
            .map_err(|error| format!("schema {:?} is not JSON: {error}", source.name))?;
        let refuse = |fault: Fault| format!("at {:?}: {}", fault.pointer, fault.message);
        let patterns =
            inspect(&schema, usize::MAX).map_err(|mut faults| refuse(faults.swap_remove(0)))?;
        let sizes: &[usize] = if patterns.is_empty() { &[0] } else { &PATTERN_BYTES_TRIED };
        Self::build(&schema, patterns.len(), &source.text, sizes).map_err(refuse)
    }

    /// Compiles an inspected schema. `patterns` is how many [`inspect()`] found and `text` the
    /// schema's own text. Each pattern may take the first of these `sizes` that suffices for all.
    fn build(
        schema: &Value,
        patterns: usize,
        text: &Arc<str>,
        sizes: &[usize],
    ) -> Result<Self, Fault> {
        let mut fault = Fault { pointer: String::new(), message: String::new() };
        let translated = ecma::with_translated_patterns(schema);
        for pattern_bytes in sizes {
            match validator(&translated, *pattern_bytes) {
                Ok(validator) => {
                    let all = (patterns * pattern_bytes).min(PATTERN_BYTES_MAX);
                    let weight_bytes = estimated_weight(text.len(), patterns, all);
                    let (work, text) = (Work::of(schema), Arc::clone(text));
                    return Ok(Self { validator, text, work, weight_bytes });
                }
                Err(found) => fault = found,
            }
        }
        Err(fault)
    }

    /// Whether `value` fits, and if not, why. One reason without a place stands for all when there
    /// may be more of them than memory should be spent on, or when finding out takes more than
    /// [`STEPS_MAX`].
    ///
    /// A valid value takes the fast path, which builds no report.
    ///
    /// # Errors
    /// [`Misfit`].
    pub fn validate(&self, value: &Value) -> Result<(), Misfit> {
        self.validate_of(value, self.steps(value))
    }

    /// The same for a value whose [`steps`](Self::steps) are known.
    ///
    /// # Errors
    /// As [`validate`](Self::validate).
    pub fn validate_of(&self, value: &Value, steps: u64) -> Result<(), Misfit> {
        if steps > STEPS_MAX {
            let message = format!(
                "takes some {steps} steps to hold against its schema, of at most {STEPS_MAX}: send less \
                 at once, or declare fewer branches and patterns for what stands in long lists"
            );
            return Err(of_the_whole(message));
        }
        if self.validator.is_valid(value) {
            return Ok(());
        }
        let schema: Value = serde_json::from_str(&self.text).unwrap_or_default();
        let too_large = || {
            of_the_whole(
                "the value does not fit the schema, and is too large to say where".to_owned(),
            )
        };
        if !report::is_affordable(&schema, value) {
            return Err(too_large());
        }
        let mut errors = self.validator.iter_errors(value);
        let violation = |error: ValidationError<'_>| SchemaViolation {
            path: cut(error.instance_path().as_str(), POINTER_CHARS_MAX).into_owned(),
            message: cut(&message_of(&error, &schema), VIOLATION_CHARS_MAX).into_owned(),
            keyword: error.kind().keyword().to_owned(),
        };
        let violations: Vec<_> = errors.by_ref().take(VIOLATIONS_MAX).map(violation).collect();
        if violations.is_empty() {
            return Err(too_large());
        }
        Err(Misfit { violations, left_out: errors.count() })
    }

    /// Steps that checking `value` takes at most; what they are is said at [`STEPS_MAX`].
    #[must_use]
    pub fn steps(&self, value: &Value) -> u64 {
        self.work.steps(value)
    }

    /// About how many bytes of memory it holds: the weight for a cache bounded in bytes.
    #[must_use]
    pub const fn weight_bytes(&self) -> usize {
        self.weight_bytes
    }
}

impl SchemaSource {
    /// The source of the schema `name`. Two schemas that differ only in the order of members or
    /// in white space have equal text and hash.
    #[must_use]
    pub fn new(name: &str, schema: &Value) -> Self {
        let text = canonical(schema);
        let hash = Sha256::digest(text.as_bytes()).into();
        Self { name: name.into(), text: text.into(), hash }
    }

    /// A schema that nothing fits, in place of one that cannot be had.
    #[must_use]
    pub fn nothing() -> Self {
        Self::new("nothing", &json!({"not": {}}))
    }
}

/// What is wrong, without a value of the data. A pattern is named as its author wrote it.
fn message_of(error: &ValidationError<'_>, schema: &Value) -> String {
    let pattern = schema.pointer(error.schema_path().as_str()).and_then(Value::as_str);
    match (error.kind().keyword(), pattern) {
        ("pattern", Some(pattern)) => format!("the value does not match {pattern:?}"),
        _ => error.masked_with("the value").to_string(),
    }
}

fn of_the_whole(message: String) -> Misfit {
    let keyword = "schema".to_owned();
    Misfit {
        violations: vec![SchemaViolation { path: String::new(), message, keyword }],
        left_out: 0,
    }
}

fn validator(schema: &Value, pattern_bytes: usize) -> Result<jsonschema::Validator, Fault> {
    let engine = jsonschema::PatternOptions::regex()
        .size_limit(pattern_bytes)
        .dfa_size_limit(PATTERN_CACHE_BYTES);
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .with_pattern_options(engine)
        .with_keyword("multipleOf", multiple::keyword)
        .offline()
        .build(schema)
        .map_err(|error| fault_of(&error))
}

/// Checks that a schema may be deployed, for rows of at most so many bytes. `text` is its own text, and
/// what its patterns cost is taken from `trials`. Only one that no other step refuses is compiled.
///
/// # Errors
/// All that is wrong with it, whichever step finds it.
pub fn admit(
    schema: &Value,
    text: &Arc<str>,
    row_bytes_max: usize,
    trials: &mut Trials,
) -> Result<(), Faults> {
    if !schema.is_object() {
        let message = format!("must be an object, not {}", quoted_value(schema));
        return Err(Faults { list: vec![Fault { pointer: String::new(), message }], left_out: 0 });
    }
    let (patterns, mut faults) = survey(schema, row_bytes_max);
    let form = check_form(schema, text.len());
    faults.left_out += form.left_out;
    faults.list.extend(form.list);
    match pattern::check(&patterns, row_bytes_max, trials) {
        Ok(largest) if faults.list.is_empty() => {
            let built = CompiledSchema::build(schema, patterns.len(), text, &[largest]);
            faults.list.extend(built.err());
        }
        patterns => faults.list.extend(patterns.err().into_iter().flatten()),
    }
    if faults.list.is_empty() { Ok(()) } else { Err(faults) }
}

/// Why a schema of `text_bytes` does not hold by the metaschema of draft 2020-12.
fn check_form(schema: &Value, text_bytes: usize) -> Faults {
    let metaschema = jsonschema::draft202012::meta::validator();
    let mut faults = Faults::default();
    if text_bytes > ALL_FAULTS_BYTES_MAX {
        faults.list.extend(metaschema.validate(schema).err().map(|error| fault_of(&error)));
        return faults;
    }
    // Each vocabulary has its own say of what a schema is, so that one fault comes several times.
    let mut told = BTreeSet::new();
    for fault in metaschema.iter_errors(schema).map(|error| fault_of(&error)) {
        if told.insert((fault.pointer.clone(), fault.message.clone())) {
            faults.push(fault);
        }
    }
    faults
}

fn fault_of(error: &ValidationError<'_>) -> Fault {
    let pointer = error.instance_path().as_str();
    // The one choice that the metaschema has: of a name and a list of names.
    let is_type = error.kind().keyword() == "anyOf" && pointer.ends_with("/type");
    let what = if is_type { TYPES.to_owned() } else { error.masked_with("the value").to_string() };
    let message = format!("not a JSON Schema 2020-12 that can be compiled: {what}");
    Fault {
        pointer: cut(pointer, POINTER_CHARS_MAX).into_owned(),
        message: cut(&message, VIOLATION_CHARS_MAX).into_owned(),
    }
}

/// What `type` may be.
const TYPES: &str = "a type is \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \
                     \"string\", or a list of different ones of these";

/// Measured on schemas from 74 bytes to 22 KB: 14 to 30 times the text, plus scratch space for each
/// pattern, and what all of them take compiled.
const fn estimated_weight(text_bytes: usize, patterns: usize, pattern_bytes: usize) -> usize {
    2_048 + 24 * text_bytes + 16_384 * patterns + pattern_bytes
}
