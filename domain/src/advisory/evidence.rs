//! What the fields of real rows look like: e-mail addresses, phone numbers, secrets by their name.
//!
//! A guess for a human to judge, so it counts fields and never keeps a value. What is not here:
//! what follows from it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::email::ADDRESS_BYTES_MAX;

/// Rows of a sample that are looked at.
pub const SAMPLED_ROWS_MAX: usize = 200;
/// Fields that evidence lists for one collection.
pub const FIELDS_MAX: usize = 50;
/// Fields of one kind that are told apart; of one with more there are at least so many.
pub const FIELDS_COUNTED_MAX: usize = 1_000;
/// Bytes of a field's path that are kept; those that are equal so far are one field.
const PATH_BYTES_MAX: usize = 200;

/// What is known of one collection's rows.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Evidence {
    /// Live rows.
    pub rows: u64,
    /// Rows that were looked at.
    pub sampled: u64,
    /// Fields that look personal or secret, by path: at most [`FIELDS_MAX`], secrets before others.
    pub fields: Vec<FieldEvidence>,
    /// How many fields there are of each kind, listed or not, up to [`FIELDS_COUNTED_MAX`].
    pub counts: BTreeMap<LooksLike, usize>,
}

/// A field that looks personal or secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldEvidence {
    /// Dotted path of the field; items of an array share their array's path.
    pub field: String,
    /// What it looks like.
    pub looks_like: LooksLike,
    /// In how many sampled rows it does.
    pub seen: u64,
}

/// What a field can look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LooksLike {
    /// Called like a secret, and filled.
    Secret,
    /// An e-mail address.
    EmailAddress,
    /// A phone number.
    PhoneNumber,
}

crate::all::all_of!(LooksLike: Secret EmailAddress PhoneNumber);

impl LooksLike {
    pub(super) const fn singular(self) -> &'static str {
        match self {
            Self::Secret => "a secret",
            Self::EmailAddress => "an e-mail address",
            Self::PhoneNumber => "a phone number",
        }
    }

    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::Secret => "secrets",
            Self::EmailAddress => "e-mail addresses",
            Self::PhoneNumber => "phone numbers",
        }
    }
}

impl Evidence {
    /// Looks at the data of up to [`SAMPLED_ROWS_MAX`] rows of a collection that has `rows`, all the
    /// way down.
    pub fn gather<'a>(rows: u64, sample: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut seen: BTreeMap<LooksLike, BTreeMap<String, u64>> = BTreeMap::new();
        let mut sampled = 0;
        for data in sample.into_iter().take(SAMPLED_ROWS_MAX) {
            sampled += 1;
            let mut found = Vec::new();
            look(data, "", Name::default(), &mut found);
            found.sort_unstable();
            found.dedup();
            for (field, looks_like) in found {
                let fields = seen.entry(looks_like).or_default();
                if fields.len() < FIELDS_COUNTED_MAX || fields.contains_key(&field) {
                    *fields.entry(field).or_default() += 1;
                }
            }
        }
        let counts = seen.iter().map(|(kind, fields)| (*kind, fields.len())).collect();
        let each = seen.into_iter().flat_map(|(looks_like, fields)| {
            let of_kind = move |(field, seen)| FieldEvidence { field, looks_like, seen };
            fields.into_iter().map(of_kind)
        });
        let mut fields: Vec<_> = each.take(FIELDS_MAX).collect();
        fields.sort_by(|a, b| (&a.field, a.looks_like).cmp(&(&b.field, b.looks_like)));
        Self { rows, sampled, fields, counts }
    }

    pub(super) fn has(&self, kind: LooksLike) -> bool {
        self.count(kind) > 0
    }

    pub(super) fn count(&self, kind: LooksLike) -> usize {
        self.counts.get(&kind).copied().unwrap_or(0)
    }
}

/// What the name of a member says of the value. It is judged once, also for a list of many items: a
/// name may be as long as a row.
#[derive(Clone, Copy, Default)]
struct Name {
    is_secret: bool,
    is_phone: bool,
}

impl Name {
    fn judge(name: &str) -> Self {
        let (squeezed, words) = (squeezed(name), words(name));
        Self {
            is_secret: is_secret_name(&squeezed, &words),
            is_phone: is_phone_name(&squeezed, &words),
        }
    }
}

/// Looks at the value of a member of this `name`, below `path`.
fn look(value: &Value, path: &str, name: Name, found: &mut Vec<(String, LooksLike)>) {
    match value {
        Value::Object(map) => {
            for (member, value) in map {
                look(value, &below(path, member), Name::judge(member), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                look(item, path, name, found);
            }
        }
        Value::String(text) => {
            let looks_like = if text.is_empty() {
                None
            } else if name.is_secret {
                Some(LooksLike::Secret)
            } else if is_email(text) {
                Some(LooksLike::EmailAddress)
            } else {
                is_phone(text, name).then_some(LooksLike::PhoneNumber)
            };
            found.extend(looks_like.map(|kind| (path.to_owned(), kind)));
        }
        Value::Number(number) => {
            if name.is_secret {
                found.push((path.to_owned(), LooksLike::Secret));
            } else if name.is_phone && is_phone(&number.to_string(), name) {
                found.push((path.to_owned(), LooksLike::PhoneNumber));
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// The path of a member, as far as it is kept.
fn below(path: &str, member: &str) -> String {
    let mut path = match path {
        "" => member.to_owned(),
        path if path.len() < PATH_BYTES_MAX => format!("{path}.{member}"),
        path => return path.to_owned(),
    };
    if path.len() > PATH_BYTES_MAX {
        path.truncate(path.floor_char_boundary(PATH_BYTES_MAX));
        path.push('…');
    }
    path
}

fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    text.len() <= ADDRESS_BYTES_MAX
        && !local.is_empty()
        && !local.contains('@')
        && !text.contains(char::is_whitespace)
        && domain.contains('.')
        && domain.split('.').all(|label| {
            !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-')
        })
}

/// 7 to 15 digits (ITU E.164) and nothing but the usual separators; without a leading `+` only in
/// a field that is called like a phone number, because every number would do otherwise.
fn is_phone(text: &str, name: Name) -> bool {
    let text = text.trim();
    let digits = text.bytes().filter(u8::is_ascii_digit).count();
    let rest = text.strip_prefix('+').unwrap_or(text);
    (7..=15).contains(&digits)
        && rest.len() <= 30
        && rest.bytes().all(|b| b.is_ascii_digit() || b" ()-./".contains(&b))
        && (text.starts_with('+') || name.is_phone)
}

fn is_phone_name(squeezed: &str, words: &[String]) -> bool {
    words.iter().any(|word| {
        matches!(word.as_str(), "phone" | "telephone" | "tel" | "mobile" | "fax" | "whatsapp")
    }) || squeezed.contains("phone")
}

fn is_secret_name(squeezed: &str, words: &[String]) -> bool {
    const ANYWHERE: [&str; 12] = [
        "password",
        "passwd",
        "passphrase",
        "apikey",
        "secretkey",
        "privatekey",
        "accesstoken",
        "refreshtoken",
        "authtoken",
        "creditcard",
        "cardnumber",
        "clientsecret",
    ];
    const WORDS: [&str; 7] = ["secret", "token", "pwd", "cvv", "cvc", "ssn", "iban"];
    ANYWHERE.iter().any(|part| squeezed.contains(part))
        || words.iter().any(|word| WORDS.contains(&word.as_str()))
}

/// `apiKey`, `api_key` and `API-KEY` are one name.
fn squeezed(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The words of a name in camelCase, snake_case or kebab-case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous_is_lower = false;
    for c in name.chars() {
        let starts_word = c.is_uppercase() && previous_is_lower;
        if (starts_word || !c.is_alphanumeric()) && words.last().is_some_and(|w| !w.is_empty()) {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        previous_is_lower = c.is_lowercase();
    }
    words
}
