//! The plain model: what a collection with a unique `name` and a bounded `n` must answer and hold,
//! kept by the simplest means. It knows nothing of actors, commits or pages.

use std::collections::BTreeMap;

use rookery_domain::ErrorCode;
use serde_json::{Map, Value, json};

/// The largest `n` that the schema admits.
pub const N_MAX: u8 = 4;

/// What an operation answers: a status with key, version and data, or a refusal.
pub type Answered = Result<Told, ErrorCode>;

/// A success.
#[derive(Debug, Clone, PartialEq)]
pub struct Told {
    pub status: u16,
    pub key: String,
    pub version: u64,
    /// Null where nothing of it is left.
    pub data: Value,
}

/// A row to create, or to upsert by its name where there is no key.
#[derive(Debug, Clone)]
pub struct Entry {
    pub key: Option<u8>,
    pub name: &'static str,
    pub n: u8,
}

impl Entry {
    /// As the API takes it.
    pub fn body(&self) -> Value {
        let data = json!({"name": self.name, "n": self.n});
        match self.key {
            Some(key) => json!({"key": key_text(key), "data": data}),
            None => json!({"on": "name", "data": data}),
        }
    }
}

/// `k0`, `k1`, ...
pub fn key_text(key: u8) -> String {
    format!("k{key}")
}

#[derive(Debug, Clone)]
pub struct Row {
    pub version: u64,
    pub data: Value,
}

/// What the server must hold.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub live: BTreeMap<String, Row>,
    pub trash: BTreeMap<String, Row>,
    /// The last version of every key there ever was.
    versions: BTreeMap<String, u64>,
    /// Events of rows so far.
    pub events: usize,
}

impl Model {
    /// Creates or upserts. `drawn` is the key that the server drew, if it did.
    pub fn write(&mut self, entry: &Entry, drawn: Option<&str>) -> Answered {
        let sent = json!({"name": entry.name, "n": entry.n});
        let key = match entry.key {
            Some(key) => key_text(key),
            None => match self.holder(entry.name) {
                Some(holder) => return self.change(&holder, &sent, false),
                None => drawn.unwrap_or_default().to_owned(),
            },
        };
        if let Some(row) = self.live.get(&key) {
            return Ok(told(200, &key, row));
        }
        self.check(&key, &sent)?;
        self.trash.remove(&key);
        Ok(self.put(201, &key, sent))
    }

    /// Merges or replaces, if the row has version `seen`.
    pub fn update(&mut self, key: u8, sent: &Value, replace: bool, seen: Option<u64>) -> Answered {
        let key = self.seen(key, seen)?;
        self.change(&key, sent, replace)
    }

    /// Moves a row to the trash.
    pub fn delete(&mut self, key: u8, seen: Option<u64>) -> Answered {
        let key = self.seen(key, seen)?;
        let mut row = self.live.remove(&key).ok_or(ErrorCode::RowNotFound)?;
        row.version = self.next(&key);
        self.trash.insert(key.clone(), row.clone());
        Ok(told(200, &key, &row))
    }

    /// Brings a row back.
    pub fn restore(&mut self, key: u8) -> Answered {
        let key = key_text(key);
        if let Some(row) = self.live.get(&key) {
            return Ok(told(200, &key, row));
        }
        let row = self.trash.get(&key).cloned().ok_or(ErrorCode::RowNotFound)?;
        self.check(&key, &row.data)?;
        self.trash.remove(&key);
        Ok(self.put(200, &key, row.data))
    }

    /// Destroys a row.
    pub fn purge(&mut self, key: u8) -> Answered {
        let key = key_text(key);
        let row = self.live.remove(&key).or_else(|| self.trash.remove(&key));
        row.ok_or(ErrorCode::RowNotFound)?;
        let version = self.next(&key);
        Ok(Told { status: 200, key, version, data: Value::Null })
    }

    /// All of them or none; the first refusal.
    pub fn atomic(&mut self, entries: &[Entry], drawn: &[Option<String>]) -> Result<(), ErrorCode> {
        let before = self.clone();
        for (n, entry) in entries.iter().enumerate() {
            let drawn = drawn.get(n).and_then(Option::as_deref);
            if let Err(code) = self.write(entry, drawn) {
                *self = before;
                return Err(code);
            }
        }
        Ok(())
    }

    fn change(&mut self, key: &str, sent: &Value, replace: bool) -> Answered {
        let row = self.live.get(key).cloned().ok_or(ErrorCode::RowNotFound)?;
        let mut data = if replace { json!({}) } else { row.data };
        for (name, value) in sent.as_object().unwrap_or(&Map::new()) {
            match value.is_null() && !replace {
                true => drop(data.as_object_mut().and_then(|data| data.remove(name))),
                false => data[name] = value.clone(),
            }
        }
        self.check(key, &data)?;
        Ok(self.put(200, key, data))
    }

    fn put(&mut self, status: u16, key: &str, data: Value) -> Told {
        let row = Row { version: self.next(key), data };
        self.live.insert(key.to_owned(), row.clone());
        told(status, key, &row)
    }

    /// The schema, then uniqueness.
    fn check(&self, key: &str, data: &Value) -> Result<(), ErrorCode> {
        if data["n"].as_u64().is_some_and(|n| n > u64::from(N_MAX)) {
            return Err(ErrorCode::RowSchemaViolation);
        }
        let name = data["name"].as_str();
        match name.and_then(|name| self.holder(name)) {
            Some(holder) if holder != key => Err(ErrorCode::UniqueConflict),
            _ => Ok(()),
        }
    }

    /// The live row that has this name, whatever its case and the space around it.
    fn holder(&self, name: &str) -> Option<String> {
        let form = |name: &str| name.trim().to_lowercase();
        let holds =
            |row: &Row| row.data["name"].as_str().is_some_and(|own| form(own) == form(name));
        self.live.iter().find(|(_, row)| holds(row)).map(|(key, _)| key.clone())
    }

    /// The key of a live row with this version.
    fn seen(&self, key: u8, seen: Option<u64>) -> Result<String, ErrorCode> {
        let key = key_text(key);
        let row = self.live.get(&key).ok_or(ErrorCode::RowNotFound)?;
        match seen {
            Some(version) if version != row.version => Err(ErrorCode::Conflict),
            _ => Ok(key),
        }
    }

    fn next(&mut self, key: &str) -> u64 {
        self.events += 1;
        let version = self.versions.entry(key.to_owned()).or_default();
        *version += 1;
        *version
    }
}

fn told(status: u16, key: &str, row: &Row) -> Told {
    Told { status, key: key.to_owned(), version: row.version, data: row.data.clone() }
}
