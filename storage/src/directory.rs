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
    let page = |after: [u8; 16]| args![after, PAGE];
    pages(
        db,
        concat!("select ", human_columns!(), " from humans where id > $1 order by id limit $2"),
        page,
        |human: &Human| human.id.uuid(),
        |human| visit(Entry::Human(human)),
    )
    .await?;
    pages(
        db,
        "select id, owner, name, created_at, claimed_at
         from agents where id > $1 order by id limit $2",
        page,
        |agent: &Agent| agent.id.uuid(),
        |agent| visit(Entry::Agent(agent)),
    )
    .await?;
    pages(
        db,
        "select id, agent, hash, prefix, state, created_at, last_used_at
         from agent_keys where id > $1 order by id limit $2",
        page,
        |key: &Key| key.id.uuid(),
        |key| visit(Entry::Key(key)),
    )
    .await?;
    pages(
        db,
        "select id, hash, human, created_at, seen_at, expires_at
         from sessions where id > $1 and expires_at > $3 order by id limit $2",
        |after| args![after, PAGE, now],
        |session: &Session| session.id.uuid(),
        |session| visit(Entry::Session(session)),
    )
    .await?;
    pages(
        db,
        "select id, name, billing, created_at, updated_at
         from orgs where id > $1 order by id limit $2",
        page,
        |org: &Org| org.id.uuid(),
        |org| visit(Entry::Org(org)),
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

/// Shows every row of a table to `visit`, in the order of their ids.
async fn pages<T: FromColumns>(
    db: &Db,
    sql: &'static str,
    bind: impl Fn([u8; 16]) -> Args,
    id: impl Fn(&T) -> Uuid,
    mut visit: impl FnMut(T),
) -> Result<()> {
    let mut after = [0; 16];
    loop {
        let page: Vec<T> = db.all(sql, bind(after)).await?;
        let full = page.len() == PAGE as usize;
        for row in page {
            after = id(&row).into_bytes();
            visit(row);
        }
        if !full {
            return Ok(());
        }
    }
}
