//! A load in the making: the queries, and what their columns become, for either database.

use std::sync::Arc;

use rookery_domain::{
    credentials::Credential,
    event::Event,
    id::AppId,
    row::Row,
    time::{DAY_S, MICROS_PER_SECOND},
};

use super::{Head, LoadOptions, LoadedAccess, LoadedApp, LoadedRows, PoisonRow, Tombstone};
use crate::{
    apps::record::{Columns, app_columns},
    codec::{self, Read, ReadColumns, event_columns},
    commit::{BudgetWrite, RowState, SpentChallenge, Totals},
    credentials,
    error::{Result, StorageError},
    grants, members, previews,
};

/// Rows that there is room for before they come.
const RESERVED_ROWS_MAX: usize = 100_000;

/// The record of an app that is not being purged (status 3). `$1` the app.
pub(super) const RECORD: &str =
    concat!("select ", app_columns!(), " from apps where id = $1 and status <> 3");

/// The head and the current manifest. `$1` the app, `$2` the version.
pub(super) const HEAD: &str = "select h.last_seq, h.floor_seq, h.live, h.trashed, h.detached, \
     h.bytes, h.trashed_bytes, v.manifest, h.version_floor \
     from app_head h join versions v on v.app_id = h.app_id \
     where h.app_id = $1 and v.number = $2";

/// All rows, by collection and key: with the data of live ones, and with the size of the others.
/// `$1` the app.
pub(super) const ROWS: &str = concat!(
    "select collection, state, state_at, case when state = 0 then 0 else ",
    "cast(coalesce(octet_length(key) + octet_length(data), 0) as bigint) end, ",
    "key, version, case when state = 0 then data end, creator, editor, created_at, updated_at ",
    "from rows where app_id = $1 order by collection, key"
);

/// Counters of the days around the present, four of them: whatever an app's timezone, today and
/// tomorrow are among them. `$1` the app, `$2` the first day.
pub(super) const BUDGETS: &str = "select collection, network, day, count from budgets \
     where app_id = $1 and day >= $2 and day <= $2 + 3";

/// Spent challenges. `$1` the app, `$2` the present.
pub(super) const CHALLENGES: &str =
    "select id, expires_at from spent_challenges where app_id = $1 and expires_at > $2";

/// Members. `$1` the app.
pub(super) const MEMBERS: &str =
    "select human, custom_role, created_at from members where app_id = $1 and removed_at is null";

/// Grant links that are not revoked. `$1` the app.
pub(super) const GRANTS: &str = "select id, hash, role, max_uses, uses, expires_at, created_by, \
     created_at, revoked_at from grants where app_id = $1 and revoked_at is null";

/// Preview tokens that open something. `$1` the app, `$2` the present.
pub(super) const PREVIEWS: &str = "select id, hash, expires_at, created_by, created_at, \
     revoked_at from previews where app_id = $1 and expires_at > $2 and revoked_at is null";

/// Credentials that are not revoked (status 2), one row for each token that works. `$1` the app,
/// `$2` the present.
pub(super) const CREDENTIALS: &str = "select c.id, c.name, c.prefix, c.rights, c.status, \
     c.created_by, c.created_at, c.updated_at, t.hash, t.prefix, t.created_at, t.expires_at \
     from credentials c join credential_tokens t on t.credential = c.id \
     where c.app_id = $1 and c.status <> 2 and (t.expires_at is null or t.expires_at > $2) \
     order by c.created_at, c.id, t.created_at, t.hash";

/// The newest events, the newest first. `$1` the app, `$2` how many.
pub(super) const TAIL: &str = concat!(
    "select ",
    event_columns!(),
    " from events where app_id = $1 order by seq desc limit $2"
);

/// The first calendar day whose counters can still matter: in the timezone farthest west it is
/// yesterday.
pub(super) fn first_day(options: LoadOptions) -> i64 {
    options.now.0.div_euclid(DAY_S * MICROS_PER_SECOND) - 1
}

/// What has been read so far.
pub(super) struct Assembly {
    app: AppId,
    loaded: LoadedApp,
    /// The collection of the row before: rows come in its order.
    collection: Arc<str>,
    tail_is_whole: bool,
}

impl Assembly {
    pub(super) fn new(app: AppId, record: &impl ReadColumns) -> Result<Self> {
        let columns = Columns::read(record);
        let record = columns.map_err(|why| StorageError::corrupt("app record", why))?.decode()?;
        let head = Head { last_seq: 0, floor_seq: 0, version_floor: 0, totals: Totals::default() };
        let loaded = LoadedApp {
            record,
            head,
            manifest: Arc::from(""),
            rows: Vec::new(),
            tombstones: Vec::new(),
            poison: Vec::new(),
            budgets: Vec::new(),
            spent_challenges: Vec::new(),
            access: LoadedAccess::default(),
            tail: Vec::new(),
        };
        Ok(Self { app, loaded, collection: Arc::from(""), tail_is_whole: true })
    }

    /// The current version's number.
    pub(super) fn version(&self) -> i64 {
        self.loaded.record.version.into()
    }

    pub(super) fn head(&mut self, columns: &impl ReadColumns) -> Result<()> {
        let mut read = || -> Read<()> {
            self.loaded.head = Head {
                last_seq: columns.number(0)?,
                floor_seq: columns.number(1)?,
                version_floor: columns.number(8)?,
                totals: Totals {
                    live: columns.number(2)?,
                    trashed: columns.number(3)?,
                    detached: columns.number(4)?,
                    bytes: columns.number(5)?,
                    trashed_bytes: columns.number(6)?,
                },
            };
            self.loaded.manifest = Arc::from(columns.text(7)?);
            Ok(())
        };
        read().map_err(|why| StorageError::corrupt("app head", why))
    }

    pub(super) fn row(&mut self, columns: &impl ReadColumns) {
        if let Err(reason) = self.read_row(columns) {
            let text = |at| columns.text_opt(at).ok().flatten().unwrap_or_default();
            let poison = PoisonRow {
                collection: text(0).to_owned(),
                key: text(4).to_owned(),
                version: columns.number(5).unwrap_or_default(),
                bytes: (text(4).len() + text(6).len()) as u64,
                reason,
            };
            self.loaded.poison.push(poison);
        }
    }

    fn read_row(&mut self, columns: &impl ReadColumns) -> Read<()> {
        let collection = columns.text(0)?;
        if *self.collection != *collection {
            self.collection = Arc::from(collection);
        }
        let state =
            RowState::from_code(columns.int(1)?, columns.time_opt(2)?).ok_or("an unknown state")?;
        let collection = Arc::clone(&self.collection);
        if state == RowState::Live {
            let row = codec::shown_row(columns, 4)?;
            self.rows_of(collection).push(Arc::new(row));
        } else {
            let bytes = columns.number(3)?;
            let key = columns.text(4)?.into();
            let version = columns.number(5)?;
            self.loaded.tombstones.push(Tombstone { collection, key, version, state, bytes });
        }
        Ok(())
    }

    /// The rows of a collection. They come one after another.
    fn rows_of(&mut self, collection: Arc<str>) -> &mut Vec<Arc<Row>> {
        let known = &mut self.loaded.rows;
        if known.last().is_none_or(|last| !Arc::ptr_eq(&last.collection, &collection)) {
            // How many there are, if all that are left are of this one. A hint only: a damaged count
            // must not ask for all memory.
            let live = usize::try_from(self.loaded.head.totals.live).unwrap_or(0);
            let came: usize = known.iter().map(|before| before.rows.len()).sum();
            let rows = Vec::with_capacity(live.saturating_sub(came).min(RESERVED_ROWS_MAX));
            known.push(LoadedRows { collection, rows });
        }
        let last = known.len() - 1;
        &mut known[last].rows
    }

    pub(super) fn budget(&mut self, columns: &impl ReadColumns) -> Result<()> {
        let read = || -> Read<BudgetWrite> {
            Ok(BudgetWrite {
                collection: Arc::from(columns.text(0)?),
                network: columns.int(1)?.cast_unsigned(),
                day: columns.number(2)?,
                count: columns.number(3)?,
            })
        };
        let budget = read().map_err(|why| StorageError::corrupt("write budget", why))?;
        self.loaded.budgets.push(budget);
        Ok(())
    }

    pub(super) fn challenge(&mut self, columns: &impl ReadColumns) -> Result<()> {
        let read = || -> Read<SpentChallenge> {
            Ok(SpentChallenge {
                id: columns.bytes(0)?.try_into().map_err(|_| "an id of the wrong length")?,
                expires_at: columns.time(1)?,
            })
        };
        let spent = read().map_err(|why| StorageError::corrupt("spent challenge", why))?;
        self.loaded.spent_challenges.push(spent);
        Ok(())
    }

    pub(super) fn member(&mut self, columns: &impl ReadColumns) {
        let read = members::member(columns);
        self.loaded.access.members.extend(self.given("member", read));
    }

    pub(super) fn grant(&mut self, columns: &impl ReadColumns) {
        let read = grants::grant(columns);
        self.loaded.access.grants.extend(self.given("grant", read));
    }

    pub(super) fn preview(&mut self, columns: &impl ReadColumns) {
        let read = previews::preview(columns);
        self.loaded.access.previews.extend(self.given("preview", read));
    }

    /// A credential with its first token, or the next token of the credential before.
    pub(super) fn credential(&mut self, columns: &impl ReadColumns) {
        let read = || Ok((credentials::credential(columns)?, credentials::token(columns, 8)?));
        let Some((credential, token)) = self.given("credential", read()) else { return };
        let known = &mut self.loaded.access.credentials;
        match known.last_mut().filter(|last| last.id == credential.id) {
            Some(last) => last.tokens.push(token),
            None => known.push(Credential { tokens: vec![token], ..credential }),
        }
    }

    /// What gives rights and cannot be read gives none.
    fn given<T>(&self, what: &'static str, read: Read<T>) -> Option<T> {
        read.inspect_err(|why| {
            tracing::error!(app.id = %self.app, what, why, "a stored permission cannot be read");
        })
        .ok()
    }

    /// The next older event. The tail ends before one that cannot be read.
    pub(super) fn event(&mut self, columns: &impl ReadColumns) {
        if !self.tail_is_whole {
            return;
        }
        match codec::event(columns) {
            Ok(event) => self.loaded.tail.push(Arc::<Event>::new(event)),
            Err(why) => {
                tracing::error!(app.id = %self.app, why, "a stored event cannot be read");
                self.tail_is_whole = false;
            }
        }
    }

    pub(super) fn finish(mut self) -> LoadedApp {
        self.loaded.tail.reverse();
        for of_collection in &mut self.loaded.rows {
            of_collection.rows.sort_by(|a, b| a.place().cmp(&b.place()));
        }
        self.loaded
    }
}

/// An app with a record but without head or current version.
pub(super) fn without_head() -> StorageError {
    StorageError::corrupt("app", "it has no head or no current version")
}
