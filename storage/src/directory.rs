//! What the directory in memory is filled with at start: every account, agent, key and
//! organization, and the sessions that are still open. Page by page, so that a large directory
//! needs no large answer.

use rookery_domain::Timestamp;
use uuid::Uuid;

use crate::{
    agents::{Agent, keys::Key},
    columns::FromColumns,
    db::{Args, Db, Tx, args},
    error::Result,
    humans::{Human, human_columns},
    orgs::{self, Org, OrgMember},
    sessions::Session,
};

/// Records that one query reads.
pub const PAGE: u32 = 1_000;
/// Most agents or placeholders that one transaction forgets.
pub const FORGET_CHUNK: u32 = 100;

/// One record of the directory. Accounts come before agents, agents before keys, organizations
/// before their members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// An account.
    Human(Human),
    /// An agent.
    Agent(Agent),
    /// A key, a revoked one included.
    Key(Key),
    /// A session that is open at the time asked for.
    Session(Session),
    /// An organization.
    Org(Org),
    /// Somebody in an organization.
    OrgMember(OrgMember),
}

/// Shows every record to `visit`. What changes while it runs may be seen or not: call it before
/// anything else is let in.
///
/// # Errors
/// Any [`crate::StorageError`].
pub async fn load(db: &Db, now: Timestamp, mut visit: impl FnMut(Entry) + Send) -> Result<()> {
    if matches!(db, Db::Postgres(_)) {
        db.transaction((), |tx, ()| Box::pin(wait_for_commits(tx))).await?;
    }
    pages(
        db,
        concat!("select ", human_columns!(), " from humans where id > $1 order by id limit $2"),
        |after| args![after, PAGE],
        |human: Human| {
            let id = human.id.uuid();
            visit(Entry::Human(human));
            id
        },
    )
    .await?;
    pages(
        db,
        "select id, owner, name, created_at, claimed_at
         from agents where id > $1 order by id limit $2",
        |after| args![after, PAGE],
        |agent: Agent| {
            let id = agent.id.uuid();
            visit(Entry::Agent(agent));
            id
        },
    )
    .await?;
    pages(
        db,
        "select id, agent, hash, prefix, state, created_at, last_used_at
         from agent_keys where id > $1 order by id limit $2",
        |after| args![after, PAGE],
        |key: Key| {
            let id = key.id.uuid();
            visit(Entry::Key(key));
            id
        },
    )
    .await?;
    pages(
        db,
        "select id, hash, human, created_at, seen_at, expires_at
         from sessions where id > $1 and expires_at > $3 order by id limit $2",
        |after| args![after, PAGE, now],
        |session: Session| {
            let id = session.id.uuid();
            visit(Entry::Session(session));
            id
        },
    )
    .await?;
    pages(
        db,
        "select id, name, billing, created_at, updated_at
         from orgs where id > $1 order by id limit $2",
        |after| args![after, PAGE],
        |org: Org| {
            let id = org.id.uuid();
            visit(Entry::Org(org));
            id
        },
    )
    .await?;
    orgs::load_members(db, |member| visit(Entry::OrgMember(member))).await
}

/// Waits until what was begun before has ended one way or the other: a COMMIT that PostgreSQL
/// answered too late, or that was given up, may still land.
async fn wait_for_commits(tx: &mut Tx) -> Result<()> {
    // Whoever has changed one of them holds a lock that this one conflicts with.
    let sql = "lock table humans, agents, agent_keys, sessions, orgs, org_members in share mode";
    tx.execute(sql, args![]).await?;
    tx.abandon();
    Ok(())
}

/// Reads a table in the order of its ids; `visit` takes a row and answers its id.
async fn pages<T: FromColumns>(
    db: &Db,
    sql: &'static str,
    bind: impl Fn([u8; 16]) -> Args,
    mut visit: impl FnMut(T) -> Uuid,
) -> Result<()> {
    let mut after = [0; 16];
    loop {
        let page: Vec<T> = db.all(sql, bind(after)).await?;
        let full = page.len() == PAGE as usize;
        for row in page {
            after = visit(row).into_bytes();
        }
        if !full {
            return Ok(());
        }
    }
}
