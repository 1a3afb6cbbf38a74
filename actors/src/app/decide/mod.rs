//! Decisions: one function for each operation, against the actor's newest state.
//!
//! A decision either changes the working state and answers, or refuses and leaves no trace. The
//! order of its checks is the contract's precedence; each module follows it from top to bottom.
//! Nothing here waits for anything.

mod batch;
mod events;
mod remove;
mod settings;
pub(crate) mod sweep;
mod write;

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Result, Timestamp,
    access::{Access, Standing},
    challenge,
    id::AppId,
    manifest::Collection,
    principal::Caller,
    row::Row,
    schema::SchemaViolation,
};
use rookery_storage::commit::SpentChallenge;
use serde_json::{Value, json};

use super::{
    message::{Op, Reply, WriteRow},
    standing::{standing, writable},
    working::{Sighted, Undo, Working},
};
use crate::env::Env;

/// One caller's operation on one app.
pub(crate) struct Decision<'a> {
    pub(crate) env: &'a Env,
    pub(crate) working: &'a mut Working,
    pub(crate) caller: &'a Caller,
    pub(crate) standing: Standing,
    pub(crate) now: Timestamp,
}

/// Decides `op` of `caller` against `working`.
pub(crate) fn decide(env: &Env, working: &mut Working, caller: &Caller, op: Op) -> Result<Reply> {
    let standing = standing(&working.root.record, caller)?;
    let now = env.clock.now();
    let mut decision = Decision { env, working, caller, standing, now };
    match op {
        Op::App(op) => return decision.app(op),
        Op::Restore { .. } | Op::Purge { .. } if matches!(caller, Caller::System) => {}
        _ => writable(&decision.working.root.record)?,
    }
    match op {
        Op::Create { collection, item, challenge } => decision
            .challenged(&collection, challenge.as_deref(), |decision, shelf| {
                decision.create(shelf, item)
            })
            .map(Reply::Row),
        Op::Upsert { collection, item, challenge } => decision
            .challenged(&collection, challenge.as_deref(), |decision, shelf| {
                decision.upsert(shelf, item)
            })
            .map(Reply::Row),
        Op::Update { collection, key, data, replace, if_match } => {
            let shelf = decision.shelf(&collection)?;
            decision.update(shelf, &key, data, replace, if_match).map(Reply::Row)
        }
        Op::Delete { collection, target } => {
            let shelf = decision.shelf(&collection)?;
            decision.delete(shelf, &target).map(Reply::Row)
        }
        Op::Restore { collection, key, trashed } => {
            let shelf = decision.shelf(&collection)?;
            decision.restore(shelf, &key, trashed).map(Reply::Row)
        }
        Op::Purge { collection, key } => {
            let shelf = decision.shelf(&collection)?;
            decision.purge(shelf, &key).map(Reply::Purged)
        }
        Op::BatchWrite { collection, items, atomic, challenge } => decision
            .challenged(&collection, challenge.as_deref(), |decision, shelf| {
                decision.batch(items, atomic, |decision, item| match item {
                    WriteRow::Create(item) => decision.create(shelf, item),
                    WriteRow::Upsert(item) => decision.upsert(shelf, item),
                })
            })
            .map(Reply::Batch),
        Op::BatchDelete { collection, items, atomic } => {
            let shelf = decision.shelf(&collection)?;
            decision
                .batch(items, atomic, |decision, target| decision.delete(shelf, &target))
                .map(Reply::Batch)
        }
        Op::Emit { kind, data } => decision.send_event(&kind, &data).map(Reply::Event),
        Op::App(_) => Err(Error::internal(false)),
    }
}

impl Decision<'_> {
    /// The position of a declared collection.
    fn shelf(&self, name: &str) -> Result<usize> {
        self.working.root.position(name).ok_or_else(|| {
            Error::new(
                ErrorCode::CollectionNotFound,
                format!("the manifest declares no collection {name:?}"),
            )
        })
    }

    fn decl(&self, shelf: usize) -> Arc<Collection> {
        self.working.root.collections[shelf].decl.clone()
    }

    /// Runs `write` under the collection's challenge, if it asks for one: the answer is checked
    /// once the caller is known to be allowed at all, and spent only if the write succeeds.
    fn challenged<T>(
        &mut self,
        collection: &str,
        answer: Option<&str>,
        write: impl FnOnce(&mut Self, usize) -> Result<T>,
    ) -> Result<T> {
        let shelf = self.shelf(collection)?;
        let decl = self.decl(shelf);
        if !decl.challenge {
            return write(self, shelf);
        }
        Access::new(&self.standing, &decl).create(None)?;
        let id = self.working.root.record.id;
        let solved = self.solve(id, collection, answer)?;
        let reply = write(self, shelf)?;
        let now = self.now;
        self.working.private.spent.retain(|_, expires_at| *expires_at > now);
        self.working.private.spent.insert(solved.id, solved.expires_at);
        self.working.open.journal.push(Undo::Spent(solved.id));
        self.working
            .open
            .spent
            .push(SpentChallenge { id: solved.id, expires_at: solved.expires_at });
        Ok(reply)
    }

    fn solve(
        &self,
        app: AppId,
        collection: &str,
        answer: Option<&str>,
    ) -> Result<challenge::Solved> {
        let solved = challenge::verify(&self.env.key, app, collection, self.now, answer)?;
        if self.working.private.spent.contains_key(&solved.id) {
            return Err(challenge::spent(collection));
        }
        Ok(solved)
    }

    /// Whether what this caller writes now is silent (contract part 4, "Migration mode").
    fn silent(&self) -> bool {
        self.standing.is_owner()
            && self.working.root.record.migration_until.is_some_and(|until| until > self.now)
    }

    /// `row_schema_violation` with the failing paths.
    fn check_schema(&self, shelf: usize, value: &Value) -> Result<()> {
        let Some(schema) = &self.working.private.shelves[shelf].schema else { return Ok(()) };
        schema.validate(value).map_err(|violations| {
            let name = &self.working.root.collections[shelf].decl.name;
            violated(
                ErrorCode::RowSchemaViolation,
                &format!("the row does not fit the schema of `{name}`"),
                &violations,
            )
        })
    }

    /// The row's data as a value, where the collection has unique fields or relations to look at.
    fn value_of(row: &Row) -> Value {
        // Stored data was checked when it was written; a poison row never gets here.
        serde_json::from_str(&row.data).unwrap_or(Value::Null)
    }
}

/// `code` with every violation in `details.violations`, and the first one in the message.
pub(crate) fn violated(code: ErrorCode, what: &str, violations: &[SchemaViolation]) -> Error {
    let first = violations
        .first()
        .map(|violation| format!(": {} {}", violation.path, violation.message))
        .unwrap_or_default();
    let list: Vec<Value> = violations
        .iter()
        .map(|violation| {
            json!({
                "path": violation.path,
                "message": violation.message,
                "keyword": violation.keyword,
            })
        })
        .collect();
    Error::new(code, format!("{what}{first}")).with_details(json!({"violations": list}))
}

/// A row with its value, for the unique indexes.
fn sighted(row: Arc<Row>, value: Option<&Value>) -> Sighted<'_> {
    Sighted { row, value }
}
