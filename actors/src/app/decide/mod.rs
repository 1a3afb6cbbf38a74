//! Decisions: one function for each operation, against the actor's newest state.
//!
//! A decision either changes the working state and answers, or refuses and leaves no trace but a spent
//! challenge. The order of its checks is the contract's precedence; each module follows it from top
//! to bottom. Nothing here waits for anything.

mod access;
mod batch;
mod deploy;
mod events;
mod ownership;
mod quota;
mod remove;
mod settings;
pub(crate) mod sweep;
mod write;

use std::sync::Arc;

use rookery_domain::{
    Error, ErrorCode, Principal, PrincipalKind, Result, Timestamp,
    access::{Standing, Tier},
    challenge::{self, ChallengeAnswer},
    id::AppId,
    manifest::Collection,
    principal::Caller,
    row::Row,
    schema::{Misfit, SchemaViolation},
};
use rookery_storage::commit::SpentChallenge;
use serde_json::{Value, json};

pub(super) use write::check_changeable;

use super::{
    aside,
    message::{Op, Reply},
    standing::standing,
    unique::Forms,
    working::{Indexed, Stamp, Undo, Working},
};
use crate::env::Env;

/// One caller's operation on one app.
pub(crate) struct Decision<'a> {
    pub(crate) env: &'a Env,
    pub(crate) working: &'a mut Working,
    pub(crate) caller: &'a Caller,
    pub(crate) standing: Standing,
    pub(crate) now: Timestamp,
    proof: Proof,
}

/// How far the request's proof of work has been checked.
enum Proof {
    /// There is no challenge.
    Unneeded,
    /// Nobody has looked at the answer yet.
    Unchecked(Option<ChallengeAnswer>),
    /// The answer solves it.
    Given(challenge::Solved),
    /// It does not.
    Refused(Error),
}

/// Decides `op` of `caller` against `working`.
pub(crate) fn decide(env: &Env, working: &mut Working, caller: &Caller, op: Op) -> Result<Reply> {
    let now = env.clock.now();
    let standing = match &op {
        // Whoever has the link need not be let in otherwise.
        Op::RedeemGrant { visitor, .. } => {
            let visitor = Principal::new(PrincipalKind::Grant, visitor.uuid());
            Standing::new(visitor, Tier::Visitor)
        }
        _ => standing(env, &working.root, caller, now)?,
    };
    let mut decision = Decision { env, working, caller, standing, now, proof: Proof::Unneeded };
    let needs_live_app = match &op {
        Op::App(_) => false,
        Op::Restore { .. } | Op::Purge { .. } => !caller.is_system(),
        _ => true,
    };
    if needs_live_app {
        decision.working.root.record.status.check_live()?;
    }
    match op {
        Op::App(op) => decision.app(op),
        Op::Create { collection, item, challenge } => {
            decision.challenged(&collection, challenge, |decision, ix| {
                decision.create(ix, item).map(Reply::Row)
            })
        }
        Op::Upsert { collection, item, challenge } => {
            decision.challenged(&collection, challenge, |decision, ix| {
                decision.upsert(ix, item).map(Reply::Row)
            })
        }
        Op::Update { collection, key, edit } => {
            let ix = decision.index_of(&collection)?;
            decision.update(ix, &key, edit).map(Reply::Row)
        }
        Op::Delete { collection, target } => {
            let ix = decision.index_of(&collection)?;
            decision.delete(ix, &target).map(Reply::Row)
        }
        Op::Restore { collection, key, trashed } => {
            let ix = decision.index_of(&collection)?;
            decision.restore(ix, &key, trashed)
        }
        Op::Purge { collection, target } => {
            let ix = decision.index_of(&collection)?;
            decision.purge(ix, &target).map(Reply::Purged)
        }
        Op::BatchWrite { collection, items, atomic, challenge } => {
            decision.challenged(&collection, challenge, |decision, ix| {
                decision.batch_write(ix, items, atomic).map(Reply::Batch)
            })
        }
        Op::BatchDelete { collection, items, atomic } => {
            let ix = decision.index_of(&collection)?;
            decision
                .batch(items, atomic, |decision, target| decision.delete(ix, &target))
                .map(Reply::Batch)
        }
        Op::RedeemGrant { token, .. } => decision.redeem_grant(&token),
        Op::Emit { kind, data } => decision.send_event(&kind, &data).map(Reply::Event),
    }
}

impl Decision<'_> {
    /// The index of a declared collection, here `ix`, among those of the root.
    fn index_of(&self, name: &str) -> Result<usize> {
        self.working.root.index_of(name).ok_or_else(|| Error::collection_not_found(name))
    }

    fn decl(&self, ix: usize) -> Arc<Collection> {
        self.working.root.collections[ix].decl.clone()
    }

    /// Runs `write` under the collection's challenge, if it asks for one. An answer that was looked at
    /// is spent, whatever comes of the write: else one would do to try out unique values for as long
    /// as it holds. Where nothing is written, only this actor remembers it.
    fn challenged(
        &mut self,
        collection: &str,
        answer: Option<ChallengeAnswer>,
        write: impl FnOnce(&mut Self, usize) -> Result<Reply>,
    ) -> Result<Reply> {
        let ix = self.index_of(collection)?;
        if self.working.root.collections[ix].decl.challenge {
            self.proof = Proof::Unchecked(answer);
        }
        let reply = write(self, ix);
        match std::mem::replace(&mut self.proof, Proof::Unneeded) {
            // Also where a batch put it among its results: one answer, one request.
            Proof::Refused(error) => return Err(error),
            Proof::Given(solved) => {
                self.working.private.spent.insert(solved.id, solved.expires_at, self.now);
                if reply.as_ref().is_ok_and(Reply::succeeded) {
                    self.keep_spent(solved);
                }
            }
            // Nothing came as far as the challenge.
            Proof::Unneeded | Proof::Unchecked(_) => {}
        }
        reply
    }

    /// Checks the request's challenge answer, once: called as soon as a write is known to be
    /// permitted, and before anything else is said about it.
    fn pass_challenge(&mut self, decl: &Collection) -> Result<()> {
        if let Proof::Unchecked(answer) = &mut self.proof {
            let answer = answer.take();
            let solved = self.solve(self.working.root.record.id, &decl.name, answer.as_ref());
            self.proof = match solved {
                Ok(solved) => Proof::Given(solved),
                Err(error) => Proof::Refused(error),
            };
        }
        match &self.proof {
            Proof::Refused(error) => Err(error.clone()),
            _ => Ok(()),
        }
    }

    /// Has a spent answer written with the rest; it is good again if that is not committed.
    fn keep_spent(&mut self, challenge::Solved { id, expires_at }: challenge::Solved) {
        self.working.open.journal.push(Undo::Spent(id));
        self.working.open.writes.spent_challenges.push(SpentChallenge { id, expires_at });
    }

    fn solve(
        &self,
        app: AppId,
        collection: &str,
        answer: Option<&ChallengeAnswer>,
    ) -> Result<challenge::Solved> {
        let solved = challenge::verify(&self.env.key, app, collection, self.now, answer)?;
        if self.working.private.spent.contains(&solved.id) {
            return Err(challenge::spent(collection));
        }
        Ok(solved)
    }

    /// The stamp of what this caller does to the app itself. Migration mode silences writes of
    /// rows, and nothing else.
    fn stamp(&mut self) -> Stamp {
        let at = self.working.next_time(self.now);
        Stamp { by: self.standing.principal, at, silent: false }
    }

    /// The stamp of what this caller does to a row at `at`.
    fn row_stamp(&self, at: Timestamp) -> Stamp {
        Stamp { by: self.standing.principal, at, silent: self.silent() }
    }

    /// Whether what this caller writes now is silent (contract part 4, "Migration mode"): the
    /// owner's writes are, and not what the system does of itself.
    fn silent(&self) -> bool {
        self.standing.is_owner()
            && !self.caller.is_system()
            && self.working.root.record.migrates_until(self.now).is_some()
    }

    /// `row_schema_violation` with the failing paths.
    fn check_schema(&self, ix: usize, value: &Value) -> Result<()> {
        let Some(schema) = &self.working.private.collections[ix].schema else { return Ok(()) };
        aside::validate(schema, value).map_err(|misfit| {
            let name = &self.working.root.collections[ix].decl.name;
            violated(
                ErrorCode::RowSchemaViolation,
                &format!("the row does not fit the schema of `{name}`"),
                &misfit,
            )
        })
    }

    /// What is said where no live row stands at a key; `permitted` is what the caller's rights say.
    fn absent(&self, ix: usize, permitted: Result<()>) -> Error {
        let error = permitted.err().unwrap_or_else(Error::row_not_found);
        let root = &self.working.root;
        root.beside_detached(error, &self.standing, &root.collections[ix].decl.name)
    }

    /// A live row, with what it holds in the unique indexes.
    fn indexed(&self, ix: usize, row: Arc<Row>) -> Indexed {
        let decl = &self.working.root.collections[ix].decl;
        Indexed { forms: Forms::of_row(&decl.unique, &row), row }
    }
}

/// `code` with the violations in `details.violations`, how many more there are in `details.left_out`,
/// and the first one in the message.
pub(crate) fn violated(code: ErrorCode, what: &str, misfit: &Misfit) -> Error {
    let Misfit { violations, left_out } = misfit;
    let first = violations
        .first()
        .map(|SchemaViolation { path, message, .. }| match &**path {
            "" => format!(": {message}"),
            path => format!(": {path} {message}"),
        })
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
    let mut details = json!({"violations": list});
    if *left_out > 0 {
        details["left_out"] = json!(left_out);
    }
    Error::new(code, format!("{what}{first}")).with_details(details)
}
