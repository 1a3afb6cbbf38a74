//! What the directory in memory is filled with at start: every account, agent, key and
//! organization, and the sessions that are still open. Page by page, so that a large directory
//! needs no large answer.

use std::sync::Arc;

use rookery_domain::{Timestamp, text::hex};

use crate::{
    agents::{Agent, keys::Key},
    columns::{FromColumns, Read, ReadColumns},
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
    let page = |[after]: [Arc<[u8]>; 1]| args![after, PAGE];
    pages(
        db,
        concat!("select ", human_columns!(), " from humans where id > $1 order by id limit $2"),
        page,
        |human| visit(Entry::Human(human)),
    )
    .await?;
    pages(
        db,
        "select id, owner, name, created_at, claimed_at
         from agents where id > $1 order by id limit $2",
        page,
        |agent| visit(Entry::Agent(agent)),
    )
    .await?;
    pages(
        db,
        "select id, agent, hash, prefix, state, created_at, last_used_at
         from agent_keys where id > $1 order by id limit $2",
        page,
        |key| visit(Entry::Key(key)),
    )
    .await?;
    pages(
        db,
        "select id, hash, human, created_at, seen_at, expires_at
         from sessions where id > $1 and expires_at > $3 order by id limit $2",
        |[after]| args![after, PAGE, now],
        |session| visit(Entry::Session(session)),
    )
    .await?;
    pages(
        db,
        "select id, name, billing, created_at, updated_at
         from orgs where id > $1 order by id limit $2",
        page,
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

/// A record, and the ids that it stands under also when it cannot be read: their bytes, however many
/// they are.
struct Identified<T, const N: usize> {
    ids: [Arc<[u8]>; N],
    record: Read<T>,
}

impl<T: FromColumns, const N: usize> FromColumns for Identified<T, N> {
    const WHAT: &'static str = T::WHAT;

    fn from_columns(columns: &impl ReadColumns) -> Read<Self> {
        let mut ids = no_ids();
        for (at, id) in ids.iter_mut().enumerate() {
            *id = columns.get(at)?;
        }
        Ok(Self { ids, record: T::from_columns(columns) })
    }
}

/// Those before all others.
fn no_ids<const N: usize>() -> [Arc<[u8]>; N] {
    std::array::from_fn(|_| Arc::from([]))
}

/// Shows every row of a table to `visit`, in the order of its ids, which are the first columns. One
/// that cannot be read is left out and logged: it gives nobody a right, and keeps nobody else from
/// theirs.
pub(crate) async fn pages<T: FromColumns, const N: usize>(
    db: &Db,
    sql: &'static str,
    bind: impl Fn([Arc<[u8]>; N]) -> Args,
    mut visit: impl FnMut(T),
) -> Result<()> {
    let mut after = no_ids();
    loop {
        let page: Vec<Identified<T, N>> = db.all(sql, bind(after.clone())).await?;
        let full = page.len() == PAGE as usize;
        for Identified { ids, record } in page {
            match record {
                Ok(record) => visit(record),
                Err(why) => {
                    let ids: Vec<String> = ids.iter().map(|id| hex(id)).collect();
                    tracing::error!(what = T::WHAT, ?ids, why, "a stored record cannot be read");
                }
            }
            after = ids;
        }
        if !full {
            return Ok(());
        }
    }
}
