//! The permission lists that the matrix walks: in each app, collections whose lists are drawn from
//! every kind of subject, so that each kind stands in each list beside many others.

use serde_json::{Value, json};

/// Collections of one app.
pub const COLLECTIONS: usize = 48;

/// Subjects of the lists that may depend on the row. The first one is empty.
const SCOPED: [&[&str]; 13] = [
    &[],
    &["owner"],
    &["member"],
    &["anyone"],
    &["pilot"],
    &["creator"],
    &["editor"],
    &["author"],
    &["pilot:creator"],
    &["pilot:own"],
    &["owner", "creator"],
    &["member", "author"],
    &["pilot", "editor"],
];
const WRITE: [&[&str]; 5] = [&["owner"], &["member"], &["anyone"], &["pilot"], &["owner", "pilot"]];
const COUNT: [Option<&[&str]>; 6] =
    [None, Some(&[]), Some(&["owner"]), Some(&["member"]), Some(&["anyone"]), Some(&["pilot"])];

/// One collection's lists, as the manifest writes them.
#[derive(Debug, Clone, Copy)]
pub struct Lists {
    pub read: &'static [&'static str],
    pub write: &'static [&'static str],
    /// Left out: as `write`.
    pub update: Option<&'static [&'static str]>,
    pub delete: &'static [&'static str],
    /// Left out: nobody counts.
    pub count: Option<&'static [&'static str]>,
}

impl Lists {
    /// The lists of a collection; public apps have others than private ones.
    pub fn of(visibility: &str, at: usize) -> Self {
        let at = if visibility == "public" { at + COLLECTIONS } else { at };
        // The strides share no divisor with the lengths, so every pair comes round.
        let write = WRITE[at % WRITE.len()];
        let update = SCOPED.get((at * 5 + at / 13 + 3) % (SCOPED.len() + 1)).copied();
        Self {
            read: SCOPED[(at + at / 26) % SCOPED.len()],
            write,
            // `anyone` among those who write makes the list a must.
            update: update.or(write.contains(&"anyone").then_some(&["creator"])),
            delete: SCOPED[1 + (at * 7 + at / 12) % (SCOPED.len() - 1)],
            count: COUNT[(at + at / 6) % COUNT.len()],
        }
    }

    /// The list that governs updates.
    pub fn update(&self) -> &'static [&'static str] {
        self.update.unwrap_or(self.write)
    }

    fn manifest(&self) -> Value {
        let mut permissions =
            json!({"read": self.read, "write": self.write, "delete": self.delete});
        if let Some(update) = self.update {
            permissions["update"] = json!(update);
        }
        if let Some(count) = self.count {
            permissions["countRead"] = json!(count);
        }
        json!({"permissions": permissions, "unique": ["u"]})
    }
}

/// The name of a collection.
pub fn name(at: usize) -> String {
    format!("c{at:02}")
}

/// The app's manifest: with its lists, or with everything open to set it up.
pub fn manifest(visibility: &str, open: bool) -> Value {
    let everybody = json!(["anyone"]);
    let opened = json!({"permissions": {"read": everybody, "write": everybody,
        "update": everybody, "delete": everybody, "countRead": everybody}, "unique": ["u"]});
    let collection = |at| match open {
        true => opened.clone(),
        false => Lists::of(visibility, at).manifest(),
    };
    let collections: serde_json::Map<String, Value> =
        (0..COLLECTIONS).map(|at| (name(at), collection(at))).collect();
    json!({"roles": {"pilot": {"title": "Pilot"}}, "collections": collections,
        "events": {"ping": {}}})
}
