//! Makes what an actor starts with from what storage holds.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use rookery_domain::{
    Error, Result, Timestamp,
    budget::BudgetCounters,
    event::{Event, RowChange},
    json,
    manifest::{self, Manifest},
    timezone::Zone,
};
use rookery_storage::{
    commit::RowState,
    load::{LoadedApp, PoisonRow, Tombstone},
};

use super::{
    access::AccessTables,
    deploy::EventSchemas,
    group::Open,
    private::{Private, PrivateCollection, Tomb, TombKind},
    recent_responses::RecentResponses,
    root::{CollectionState, GroupNumber, Root, Withheld},
    rows::{Digest, DigestMap, Rows},
    tail::Tail,
    working::Working,
};
use crate::{accounts::CountedRows, env::Env};

/// Schemas of a manifest of this many bytes or more may take long to compile.
const LONG_MANIFEST_BYTES: usize = 8 << 10;
/// Unique fields of rows of this many bytes or more may take long to read.
const LONG_ROWS_BYTES: u64 = 256 << 10;

/// Whether [`working`] may take too long for the event loop.
pub(crate) fn may_take_long(loaded: &LoadedApp) -> bool {
    loaded.manifest.len() > LONG_MANIFEST_BYTES || has_long_rows(loaded)
}

/// Whether the rows take so long to read that no write is to wait for their unique indexes.
const fn has_long_rows(loaded: &LoadedApp) -> bool {
    loaded.head.totals.bytes > LONG_ROWS_BYTES
}

/// The state of a new incarnation, which begins with `begins`.
///
/// # Errors
/// `internal` when the stored text is no manifest: the app cannot be served, its neighbours can.
pub(crate) fn working(
    env: &Env,
    loaded: LoadedApp,
    counted: Arc<CountedRows>,
    begins: GroupNumber,
) -> Result<Working> {
    report_poison(&loaded);
    let manifest = Arc::new(manifest_of(&loaded)?);
    let now = env.clock.now();
    let (last_at, latest) = latest(&loaded, now);
    let is_large = has_long_rows(&loaded);
    let mut rows: HashMap<_, _> =
        loaded.rows.into_iter().map(|stored| (stored.collection, stored.rows)).collect();
    let (mut collections, mut privates) = (Vec::new(), Vec::new());
    for (name, decl) in &manifest.collections {
        let rows: Rows = rows.remove(name).unwrap_or_default().into_iter().collect();
        let schema = decl.schema.as_ref().map(|source| env.schemas.in_force(source)).transpose()?;
        let state = CollectionState { decl: decl.clone(), rows };
        let mut private = PrivateCollection { schema, unique: None };
        if is_large {
            private.unique_of(loaded.record.id, &state);
        }
        collections.push(state);
        privates.push(private);
    }
    let withheld = withheld(&loaded.tombstones);
    let mut tail = Tail::default();
    for event in loaded.tail {
        tail.push(sharing(event, &collections));
    }
    let zone = Zone::parse(&loaded.record.timezone).unwrap_or(Zone::UTC);
    let seq = loaded.head.last_seq;
    let (budgets, moved) = BudgetCounters::load(zone.day(now), loaded.budgets);
    let mut private = Private {
        collections: privates,
        tombs: tombs(loaded.tombstones, &loaded.poison),
        version_floor: loaded.head.version_floor,
        events: events(env, &manifest)?,
        budgets,
        zone,
        spent: loaded.spent_challenges.iter().map(|spent| (spent.id, spent.expires_at)).collect(),
        responses: RecentResponses::since(begins),
    };
    let root = Root {
        group: begins,
        purged: private.fold_purged(&[]),
        seq,
        record: Arc::new(loaded.record),
        declared_bytes: private.declared_bytes(&loaded.manifest),
        manifest,
        totals: loaded.head.totals,
        withheld: Arc::new(withheld),
        collections,
        access: Arc::new(AccessTables::of_loaded(loaded.access)),
        tail,
    };
    let mut open = Open::default();
    open.writes.budgets.extend(moved);
    Ok(Working { root, private, open, counted, last_at, latest })
}

/// Tells the operator of the rows that cannot be read.
fn report_poison(loaded: &LoadedApp) {
    for poison in &loaded.poison {
        tracing::error!(
            app.id = %loaded.record.id,
            row.collection = poison.collection,
            row.key = poison.key,
            reason = poison.reason,
            "a stored row cannot be read and was set aside"
        );
    }
}

/// The manifest of the app; the operator is told of what cannot be read of it.
///
/// # Errors
/// `internal` when the stored text is no manifest.
fn manifest_of(loaded: &LoadedApp) -> Result<Manifest> {
    let manifest = read_manifest(&loaded.manifest).map_err(|error| {
        tracing::error!(app.id = %loaded.record.id, %error, "the stored manifest cannot be read");
        Error::internal()
    })?;
    if let Some(why) = &manifest.refused {
        tracing::warn!(app.id = %loaded.record.id, why, "a part of the stored manifest is left out");
    }
    Ok(manifest)
}

/// Reads a manifest that was checked when it was deployed, by the rules of that time.
///
/// # Errors
/// When the stored text is not what was admitted.
pub(crate) fn read_manifest(text: &str) -> Result<Manifest> {
    manifest::reload(&json::parse(text.as_bytes())?)
}

fn events(env: &Env, manifest: &Manifest) -> Result<EventSchemas> {
    manifest
        .events
        .iter()
        .map(|(kind, decl)| {
            let schema =
                decl.schema.as_ref().map(|source| env.schemas.in_force(source)).transpose()?;
            Ok((kind.clone(), schema))
        })
        .collect()
}

fn withheld(tombstones: &[Tombstone]) -> BTreeMap<Arc<str>, Withheld> {
    let mut withheld: BTreeMap<Arc<str>, Withheld> = BTreeMap::new();
    for one in tombstones {
        let (trashed, detached) = match one.state {
            RowState::Trashed(_) => (1, 0),
            RowState::Detached => (0, 1),
            RowState::Purged(_) | RowState::Live => continue,
        };
        let of_collection = withheld.entry(one.collection.clone()).or_default();
        of_collection.trashed += trashed;
        of_collection.detached += detached;
    }
    withheld
}

fn tombs(stored: Vec<Tombstone>, poison: &[PoisonRow]) -> HashMap<Arc<str>, DigestMap<Tomb>> {
    let mut tombs: HashMap<Arc<str>, DigestMap<Tomb>> = HashMap::new();
    for one in stored {
        let Some(kind) = TombKind::of(one.state) else { continue };
        let bytes = u32::try_from(one.bytes).unwrap_or(u32::MAX);
        let tomb = Tomb { version: one.version, kind, bytes };
        tombs.entry(one.collection).or_default().insert(Digest::of(&one.key), tomb);
    }
    for one in poison {
        let bytes = u32::try_from(one.bytes).unwrap_or(u32::MAX);
        let tomb = Tomb { version: one.version, kind: TombKind::Poison, bytes };
        let of_collection = tombs.entry(one.collection.as_str().into()).or_default();
        of_collection.insert(Digest::of(&one.key), tomb);
    }
    tombs
}

/// The event, sharing the served row where it tells of that version, so that the content is in
/// memory once.
fn sharing(event: Arc<Event>, collections: &[CollectionState]) -> Arc<Event> {
    let Some(change) = &event.change else { return event };
    let state = collections.iter().find(|state| state.decl.name == change.collection);
    let Some((state, row)) =
        state.and_then(|state| Some((state, state.rows.get(change.row.key())?)))
    else {
        return event;
    };
    if **row != *change.row {
        return event;
    }
    let change = RowChange {
        collection: state.decl.name.clone(),
        row: row.clone(),
        previous_editor: change.previous_editor,
    };
    Arc::new(Event { change: Some(change), ..Event::clone(&event) })
}

/// The latest time in the app's history that is not ahead of the clock, so that no new row sorts before
/// older ones after the clock was set back a little; and the latest of all.
fn latest(loaded: &LoadedApp, now: Timestamp) -> (Timestamp, Timestamp) {
    let record = [loaded.record.created_at, loaded.record.updated_at];
    let rows = loaded.live_rows().flat_map(|row| [row.created_at, row.updated_at]);
    let events = loaded.tail.iter().map(|event| event.at);
    let all = rows.chain(events).chain(record);
    all.fold(Default::default(), |(believed, latest): (Timestamp, Timestamp), at| {
        let believed = if at.is_ahead_of(now) { believed } else { believed.max(at) };
        (believed, latest.max(at))
    })
}
