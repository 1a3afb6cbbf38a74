//! A load in the making: the queries, and what their columns become, for either database.

use std::sync::Arc;

use rookery_domain::{
    app::AppRecord,
    budget::{BudgetRecord, live_days},
    credentials::Credential,
    event::Event,
    grants::Grant,
    id::AppId,
    members::Member,
    previews::Preview,
};

use super::{Head, LoadOptions, LoadedAccess, LoadedApp, rows::ReadRows};
use crate::{
    apps::record::app_columns,
    codec::{self, event_columns},
    columns::{FromColumns, Read, ReadColumns, Unreadable},
    commit::{SpentChallenge, Totals},
    credentials,
    error::{Result, StorageError},
};

/// The record of an app that is not being purged (status 3). `$1` the app.
pub(super) const RECORD: &str =
    concat!("select ", app_columns!(), " from apps where id = $1 and status <> 3");

/// The head and the current manifest. `$1` the app, `$2` the version.
pub(super) const HEAD: &str = "select h.last_seq, h.floor_seq, h.live, h.trashed, h.detached, \
     h.bytes, h.trashed_bytes, v.manifest, h.version_floor \
     from app_head h join versions v on v.app_id = h.app_id \
     where h.app_id = $1 and v.number = $2";

/// Counters of the [`live_days`], four of them. `$1` the app, `$2` the first day.
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

/// Preview tokens that are not revoked: one that has expired opens something again where a clock that
/// was ahead is set back, unless it is revoked first. `$1` the app.
pub(super) const PREVIEWS: &str = "select id, hash, expires_at, created_by, created_at, \
     revoked_at from previews where app_id = $1 and revoked_at is null";

/// Credentials that are not revoked (status 2), one row for each of their tokens, those that were rotated
/// out too. `$1` the app.
pub(super) const CREDENTIALS: &str = "select c.id, c.name, c.prefix, c.rights, c.status, \
     c.created_by, c.created_at, c.updated_at, t.hash, t.prefix, t.created_at, t.expires_at \
     from credentials c join credential_tokens t on t.credential = c.id \
     where c.app_id = $1 and c.status <> 2 \
     order by c.created_at, c.id, t.created_at, t.hash";

/// The newest events, the newest first. `$1` the app, `$2` how many.
pub(super) const TAIL: &str = concat!(
    "select ",
    event_columns!(),
    " from events where app_id = $1 order by seq desc limit $2"
);

/// The first calendar day whose counters can still matter.
pub(super) fn first_day(options: LoadOptions) -> i64 {
    (*live_days(options.now).start()).into()
}

/// The columns of [`HEAD`] but for the manifest.
pub(super) fn head(columns: &impl ReadColumns) -> Read<Head> {
    Ok(Head {
        last_seq: columns.get(0)?,
        floor_seq: columns.get(1)?,
        version_floor: columns.get(8)?,
        totals: Totals {
            live: columns.get(2)?,
            trashed: columns.get(3)?,
            detached: columns.get(4)?,
            bytes: columns.get(5)?,
            trashed_bytes: columns.get(6)?,
        },
    })
}

/// What has been read so far.
pub(super) struct Assembly {
    app: AppId,
    loaded: LoadedApp,
    tail_is_whole: bool,
}

impl Assembly {
    pub(super) fn new(app: AppId, record: &impl ReadColumns) -> Result<Self> {
        let record = AppRecord::from_columns(record)
            .map_err(|why| StorageError::corrupt("app record", why))?;
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
        Ok(Self { app, loaded, tail_is_whole: true })
    }

    pub(super) fn app(&self) -> AppId {
        self.app
    }

    /// The current version's number.
    pub(super) fn version(&self) -> i64 {
        self.loaded.record.version.into()
    }

    pub(super) fn head(&mut self, columns: &impl ReadColumns) -> Result<()> {
        let read = || Ok((head(columns)?, columns.get(7)?));
        (self.loaded.head, self.loaded.manifest) =
            read().map_err(|why: Unreadable| StorageError::corrupt("app head", why))?;
        Ok(())
    }

    /// How far it is written, and what it holds.
    pub(super) fn written(&self) -> Head {
        self.loaded.head
    }

    pub(super) fn rows(&mut self, rows: ReadRows) {
        (self.loaded.rows, self.loaded.tombstones, self.loaded.poison) = rows.into_parts();
    }

    pub(super) fn budget(&mut self, columns: &impl ReadColumns) {
        let read = || -> Read<BudgetRecord> {
            Ok(BudgetRecord {
                collection: columns.get(0)?,
                scope: columns.get(1)?,
                day: columns.get(2)?,
                count: columns.get(3)?,
            })
        };
        self.loaded.budgets.extend(self.readable("write budget", read()));
    }

    pub(super) fn challenge(&mut self, columns: &impl ReadColumns) {
        let read = || -> Read<SpentChallenge> {
            Ok(SpentChallenge { id: columns.get(0)?, expires_at: columns.get(1)? })
        };
        self.loaded.spent_challenges.extend(self.readable("spent challenge", read()));
    }

    pub(super) fn member(&mut self, columns: &impl ReadColumns) {
        let read = Member::from_columns(columns);
        self.loaded.access.members.extend(self.readable("member", read));
    }

    pub(super) fn grant(&mut self, columns: &impl ReadColumns) {
        let read = Grant::from_columns(columns);
        self.loaded.access.grants.extend(self.readable("grant", read));
    }

    pub(super) fn preview(&mut self, columns: &impl ReadColumns) {
        let read = Preview::from_columns(columns);
        self.loaded.access.previews.extend(self.readable("preview", read));
    }

    /// A credential with its first token, or the next token of the credential before.
    pub(super) fn credential(&mut self, columns: &impl ReadColumns) {
        let read = || Ok((Credential::from_columns(columns)?, credentials::token(columns, 8)?));
        let Some((credential, token)) = self.readable("credential", read()) else { return };
        let known = &mut self.loaded.access.credentials;
        match known.last_mut().filter(|last| last.id == credential.id) {
            Some(last) => last.tokens.push(token),
            None => known.push(Credential { tokens: vec![token], ..credential }),
        }
    }

    /// What can be read. Anything else is left out, so that the app is there all the same: what gives
    /// rights gives none then, and a day's budget begins anew.
    fn readable<T>(&self, what: &'static str, read: Read<T>) -> Option<T> {
        read.inspect_err(|why| {
            tracing::error!(app.id = %self.app, what, why, "a stored record cannot be read");
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
        self.loaded
    }
}

/// An app with a record but without head or current version.
pub(super) fn without_head() -> StorageError {
    StorageError::corrupt("app", "it has no head or no current version")
}
