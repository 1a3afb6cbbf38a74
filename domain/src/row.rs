//! The row record (contract part 5) and how it is written as JSON.
//!
//! A live row is what an app's actor holds in memory, so it is packed: data stays the raw JSON
//! text that was validated, and the record is assembled when somebody asks for it.

use std::{fmt, ops::Range};

use serde_json::Value;

use crate::{Principal, Timestamp};

/// The texts of a row in one piece of memory: an app holds many, and each piece has a price.
#[derive(Clone, PartialEq, Eq)]
pub struct RowText {
    /// The key, then the data.
    text: Box<str>,
    key_bytes: u32,
}

impl RowText {
    /// The texts `key` and `data`.
    #[must_use]
    pub fn new(key: &str, data: &str) -> Self {
        Self { text: [key, data].concat().into(), key_bytes: key.len() as u32 }
    }

    fn split(&self) -> (&str, &str) {
        self.text.split_at(self.key_bytes as usize)
    }
}

impl fmt::Debug for RowText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.split().fmt(f)
    }
}

/// One row of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Its key and its data.
    pub text: RowText,
    /// Starts at 1 and rises by 1 with every write of the key.
    pub version: u32,
    /// Who created it; never changes.
    pub creator: Principal,
    /// Who wrote it last.
    pub editor: Principal,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was written last.
    pub updated_at: Timestamp,
}

impl Row {
    /// Its address in the collection, 1-128 characters.
    #[must_use]
    pub fn key(&self) -> &str {
        self.text.split().0
    }

    /// Its content: the text of a JSON object, already validated. Empty once purged.
    #[must_use]
    pub fn data(&self) -> &str {
        self.text.split().1
    }

    /// The row one version on, written at `updated_at`; all else stays.
    #[must_use]
    pub fn next_version(&self, updated_at: Timestamp) -> Self {
        Self { version: self.version + 1, updated_at, ..self.clone() }
    }

    /// The row with other content, the text of a JSON object; all else stays.
    #[must_use]
    pub fn with_data(&self, data: &str) -> Self {
        let Self { text: _, version, creator, editor, created_at, updated_at } = *self;
        let text = RowText::new(self.key(), data);
        Self { text, version, creator, editor, created_at, updated_at }
    }

    /// Its content as a value; null where it is not JSON, which is never served.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_str(self.data()).unwrap_or(Value::Null)
    }

    /// Where it stands in a list: by creation as it is shown, ties by key.
    #[must_use]
    pub fn place(&self) -> (Timestamp, &str) {
        (self.created_at.as_shown(), self.key())
    }

    /// Bytes that count towards the app's storage quota.
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.text.text.len() as u64
    }

    /// Appends the row record to `out`. `deleted_at` is given for a row in the trash only.
    pub fn write_json(&self, deleted_at: Option<Timestamp>, out: &mut String) {
        self.write_json_after(&mut None, deleted_at, out);
    }

    /// The same for a row of several: `named` is who was named in `out` last, at first nobody.
    pub fn write_json_after(
        &self,
        named: &mut Option<Named>,
        deleted_at: Option<Timestamp>,
        out: &mut String,
    ) {
        out.reserve(self.text.text.len() + 260);
        out.push_str("{\"key\":");
        write_json_string(self.key(), out);
        out.push_str(",\"version\":");
        out.push_str(itoa::Buffer::new().format(self.version));
        out.push_str(",\"creator\":");
        Named::write(self.creator, named, out);
        out.push_str(",\"editor\":");
        Named::write(self.editor, named, out);
        out.push_str(",\"created_at\":\"");
        let created = out.len();
        self.created_at.write_rfc3339(out);
        let created = created..out.len();
        out.push_str("\",\"updated_at\":\"");
        if self.updated_at == self.created_at {
            out.extend_from_within(created);
        } else {
            self.updated_at.write_rfc3339(out);
        }
        out.push('"');
        if let Some(at) = deleted_at {
            out.push_str(",\"deleted_at\":\"");
            at.write_rfc3339(out);
            out.push('"');
        }
        out.push_str(",\"data\":");
        out.push_str(self.data());
        out.push('}');
    }

    /// The row record as one text.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.write_json(None, &mut out);
        out
    }
}

/// Somebody whose record stands in a text already. Rows of a page are often by the same few, and
/// copying a record costs less than writing it.
#[derive(Debug)]
pub struct Named {
    who: Principal,
    at: Range<usize>,
}

impl Named {
    /// Appends the record of `who`, who is the one `named` last from then on.
    fn write(who: Principal, named: &mut Option<Self>, out: &mut String) {
        match named {
            Some(last) if last.who == who => out.extend_from_within(last.at.clone()),
            _ => {
                let start = out.len();
                who.write_json(out);
                *named = Some(Self { who, at: start..out.len() });
            }
        }
    }
}

/// Appends `text` as a JSON string, quotes included.
pub fn write_json_string(text: &str, out: &mut String) {
    // Looks at every byte, so that several are looked at together.
    let is_plain = |b: u8| (b >= 0x20) & (b != b'"') & (b != b'\\');
    if text.bytes().fold(true, |plain, b| plain & is_plain(b)) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        // A string always serializes.
        out.push_str(&serde_json::to_string(text).unwrap_or_default());
    }
}
