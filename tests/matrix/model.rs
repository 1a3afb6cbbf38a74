//! What the documents say: who satisfies which subject, and what each operation is answered then.
//! No cleverness: one function for each sentence.

use std::collections::BTreeMap;

use super::{callers::Who, lists::Lists};

/// An answer: the status of success, or the code of the error.
pub type Outcome = &'static str;

/// The outcome of a create.
const MADE: Outcome = "201";

/// Who created a row, and who wrote it last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct By {
    pub creator: Who,
    pub editor: Who,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Live,
    Deleted,
}

/// Something that happened to a row.
#[derive(Debug, Clone)]
pub struct Happened {
    pub kind: &'static str,
    pub key: String,
    pub by: By,
    pub editor_before: Who,
    /// Whether nobody but the owner is told.
    pub is_owners: bool,
}

/// A collection as it should be.
#[derive(Debug, Clone)]
pub struct Collection {
    pub at: usize,
    pub lists: Lists,
    pub rows: BTreeMap<String, (By, State)>,
    pub log: Vec<Happened>,
}

/// "Role of a caller in an app, and the subjects it satisfies": those that depend on no row.
fn satisfies(who: Who, subject: &str) -> bool {
    use Who::{Admin, Agent, Explicit, Following, Holder, Member, Own, Owner, Pilot, Sibling};
    match subject {
        "anyone" => true,
        // An admin acts as the owner; a credential is what the owner is, cut down.
        "owner" => matches!(who, Owner | Agent | Sibling | Admin | Explicit | Following | Own),
        "member" => satisfies(who, "owner") || matches!(who, Member | Pilot),
        "pilot" => matches!(who, Pilot | Holder),
        _ => false,
    }
}

/// Whether a subject holds on a row.
fn holds(who: Who, subject: &str, row: By) -> bool {
    let (created, edited) = (row.creator == who, row.editor == who);
    match subject {
        "creator" => created,
        "editor" | "author" => edited,
        "pilot:creator" => satisfies(who, "pilot") && created,
        "pilot:own" => satisfies(who, "pilot") && (created || edited),
        plain => satisfies(who, plain),
    }
}

/// Whether some row could make a subject hold.
fn could_hold(who: Who, subject: &str) -> bool {
    match subject {
        "creator" | "editor" | "author" => true,
        "pilot:creator" | "pilot:own" => satisfies(who, "pilot"),
        plain => satisfies(who, plain),
    }
}

impl Collection {
    /// "Outside its own allowlist `credential_scope_forbidden`": those here may do everything in
    /// the collections that they reach.
    fn out_of_scope(&self, who: Who) -> bool {
        who == Who::Explicit && self.at % 2 == 1
    }

    /// Whether the read list shows a row; scope `own` is only rows that it created.
    pub fn sees(&self, who: Who, row: By) -> bool {
        !self.out_of_scope(who)
            && self.lists.read.iter().any(|subject| holds(who, subject, row))
            && (who != Who::Own || row.creator == who)
    }

    fn live(&self, key: &str) -> Option<By> {
        self.rows.get(key).filter(|(_, state)| *state == State::Live).map(|(by, _)| *by)
    }

    pub fn keys(&self, state: State) -> impl Iterator<Item = (&String, By)> {
        let rows = self.rows.iter().filter(move |(_, row)| row.1 == state);
        rows.map(|(key, row)| (key, row.0))
    }

    /// The row if it is there and seen, or the one answer for both.
    fn visible(&self, who: Who, key: &str) -> Result<By, Outcome> {
        self.live(key).filter(|row| self.sees(who, *row)).ok_or("row_not_found")
    }

    fn scope(&self, who: Who) -> Result<(), Outcome> {
        if self.out_of_scope(who) { Err("credential_scope_forbidden") } else { Ok(()) }
    }

    pub fn get(&self, who: Who, key: &str) -> Outcome {
        match self.scope(who).and_then(|()| self.visible(who, key)) {
            Ok(_) => "200",
            Err(code) => code,
        }
    }

    /// With `include_deleted`, which is the owner's whatever stands at the key.
    pub fn get_deleted(&self, who: Who, key: &str) -> Outcome {
        if let Err(code) = Self::owner_only(who, "forbidden") {
            return code;
        }
        match self.rows.get(key) {
            Some((_, State::Deleted)) => "200",
            _ => self.get(who, key),
        }
    }

    pub fn list(&self, who: Who) -> Result<Vec<String>, Outcome> {
        self.scope(who)?;
        if !self.lists.read.iter().any(|subject| could_hold(who, subject)) {
            return Err("collection_read_forbidden");
        }
        let rows = self.keys(State::Live).filter(|(_, row)| self.sees(who, *row));
        Ok(rows.map(|(key, _)| key.clone()).collect())
    }

    pub fn count(&self, who: Who) -> Result<usize, Outcome> {
        self.scope(who)?;
        if !self.lists.count.unwrap_or_default().iter().any(|subject| satisfies(who, subject)) {
            return Err("collection_count_forbidden");
        }
        let own = |row: By| who != Who::Own || row.creator == who;
        Ok(self.keys(State::Live).filter(|(_, row)| own(*row)).count())
    }

    /// "A preview holder: for read and countRead only."
    fn may_write(&self, who: Who) -> bool {
        who != Who::Preview && self.lists.write.iter().any(|subject| satisfies(who, subject))
    }

    /// "No live row at the key, or the row exists and the read list hides it; deliberately
    /// indistinguishable": one who reads every row knows anyway.
    fn reads_all(&self, who: Who) -> bool {
        who != Who::Own && self.lists.read.iter().any(|subject| satisfies(who, subject))
    }

    /// Creates at a key.
    pub fn create(&mut self, who: Who, key: &str) -> Outcome {
        match (self.scope(who), self.live(key)) {
            (Err(code), _) => code,
            (_, Some(row)) if !self.sees(who, row) => "row_not_found",
            (_, Some(_)) if self.may_write(who) => "200",
            (_, Some(_)) => "collection_write_forbidden",
            (_, None) => self.make(who, Some(key), true),
        }
    }

    /// Creates without a key; `made` is the one that the service drew.
    pub fn create_anywhere(&mut self, who: Who, made: Option<&str>) -> Outcome {
        self.make(who, made, false)
    }

    /// An upsert on the value of the row at `held`; `made` is the key that the service drew if it
    /// made a new one. "One that matches needs what PATCH needs"; else it is a create.
    pub fn upsert(&mut self, who: Who, held: Option<&str>, made: Option<&str>) -> Outcome {
        if let Some(held) = held.filter(|held| self.live(held).is_some()) {
            return self.update(who, held);
        }
        self.make(who, made, true)
    }

    /// Makes a row. `names`: the request names one that it did not find.
    fn make(&mut self, who: Who, key: Option<&str>, names: bool) -> Outcome {
        if let Err(code) = self.scope(who) {
            return code;
        }
        if !self.may_write(who) {
            let may_know = !names || self.reads_all(who);
            return if may_know { "collection_write_forbidden" } else { "row_not_found" };
        }
        if let Some(key) = key {
            self.created(who, key);
        }
        MADE
    }

    fn created(&mut self, who: Who, key: &str) {
        let by = By { creator: who, editor: who };
        self.rows.insert(key.to_owned(), (by, State::Live));
        self.happened("row.created", key, by, who);
    }

    /// The refusal of a list that may depend on the row.
    fn change(&self, who: Who, row: By, list: &[&str], refusal: Outcome) -> Option<Outcome> {
        if who != Who::Preview && list.iter().any(|subject| holds(who, subject, row)) {
            return None;
        }
        let authors = !list.is_empty() && list.iter().all(|one| ["author", "editor"].contains(one));
        Some(if authors { "author_not_allowed" } else { refusal })
    }

    /// Updates, and an upsert that matches.
    pub fn update(&mut self, who: Who, key: &str) -> Outcome {
        let row = match self.scope(who).and_then(|()| self.visible(who, key)) {
            Ok(row) => row,
            Err(code) => return code,
        };
        let list = self.lists.update();
        if let Some(code) = self.change(who, row, list, "collection_write_forbidden") {
            return code;
        }
        let by = By { editor: who, ..row };
        self.rows.insert(key.to_owned(), (by, State::Live));
        self.happened("row.updated", key, by, row.editor);
        "200"
    }

    pub fn delete(&mut self, who: Who, key: &str) -> Outcome {
        let row = match self.scope(who).and_then(|()| self.visible(who, key)) {
            Ok(row) => row,
            Err(code) => return code,
        };
        let list = self.lists.delete;
        if let Some(code) = self.change(who, row, list, "collection_delete_forbidden") {
            return code;
        }
        self.rows.insert(key.to_owned(), (row, State::Deleted));
        self.happened("row.deleted", key, row, row.editor);
        "200"
    }

    /// Restore, purge and the trash are the owner's, and no credential's.
    fn owner_only(who: Who, refusal: Outcome) -> Result<(), Outcome> {
        if who.is_credential() {
            return Err("credential_scope_forbidden");
        }
        if satisfies(who, "owner") { Ok(()) } else { Err(refusal) }
    }

    pub fn deleted(&self, who: Who) -> Result<Vec<String>, Outcome> {
        Self::owner_only(who, "forbidden")?;
        Ok(self.keys(State::Deleted).map(|(key, _)| key.clone()).collect())
    }

    pub fn restore(&mut self, who: Who, key: &str) -> Outcome {
        if let Err(code) = Self::owner_only(who, "forbidden") {
            return code;
        }
        let Some((row, state)) = self.rows.get(key).copied() else { return "row_not_found" };
        if state == State::Deleted {
            self.rows.insert(key.to_owned(), (row, State::Live));
            self.happened("row.restored", key, row, row.editor);
        }
        "200"
    }

    pub fn purge(&mut self, who: Who, key: &str) -> Outcome {
        match Self::owner_only(who, "purge_forbidden") {
            Err("purge_forbidden") if self.visible(who, key).is_err() => return "row_not_found",
            Err(code) => return code,
            Ok(()) => {}
        }
        let Some((row, state)) = self.rows.remove(key) else { return "row_not_found" };
        self.happened("row.purged", key, row, row.editor);
        // What is in the trash is nobody's to see but the owner's, and so is its end.
        self.log.last_mut().expect("it just happened").is_owners = state != State::Live;
        "200"
    }

    fn happened(&mut self, kind: &'static str, key: &str, by: By, editor_before: Who) {
        let key = key.to_owned();
        self.log.push(Happened { kind, key, by, editor_before, is_owners: false });
    }

    /// What a caller hears of all that happened, once it is over: the owner everything; others
    /// what they may read now, and `row.hidden` of what has left their sight.
    pub fn heard(&self, who: Who) -> Vec<(&'static str, &str)> {
        let owner = satisfies(who, "owner") && !who.is_credential();
        let one = |event: &Happened| {
            let saw = self.sees(who, event.by);
            let before = self.sees(who, By { editor: event.editor_before, ..event.by });
            let now = self.live(&event.key).map(|row| self.sees(who, row));
            let stays = matches!(event.kind, "row.created" | "row.updated" | "row.restored");
            match (stays, saw, now) {
                _ if owner => Some(event.kind),
                _ if event.is_owners => None,
                (false, true, _) | (true, true, None | Some(true)) => Some(event.kind),
                (true, true, Some(false)) => Some("row.hidden"),
                (true, false, _) if before => Some("row.hidden"),
                _ => None,
            }
        };
        self.log.iter().filter_map(|event| Some((one(event)?, &*event.key))).collect()
    }
}

/// Whether a custom event is heard: by owner and members, and by whoever sent it.
pub fn hears_ping(who: Who, sender: Who) -> bool {
    !who.is_credential() && (satisfies(who, "member") || who == sender)
}

/// What sending a custom event is answered.
pub fn ping(who: Who) -> Outcome {
    match who {
        Who::Preview => "forbidden",
        _ if who.is_credential() => "credential_scope_forbidden",
        _ => "201",
    }
}
