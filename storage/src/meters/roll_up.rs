//! Adding what was counted in memory to what is stored, many apps in one transaction.
//!
//! Every statement adds to a row or makes it, so a batch needs no reading; only apps whose pages
//! were seen read their visitors' sketches first.

use std::{
    collections::{BTreeMap, HashSet, btree_map::Entry},
    sync::Arc,
};

use rookery_domain::{
    id::{AppId, HumanId},
    meters::{
        Flows, day_of_hour,
        sketch::VisitorSketch,
        visit::{Country, DIRECT, OTHER, UNKNOWN_COUNTRY},
    },
};

use super::{OF_DAY, OF_HOUR, REFERRERS_PER_DAY_MAX, SourceKind};
use crate::{
    db::{Args, Db, Tx, args},
    error::Result,
};

/// Most apps that one transaction takes: it holds up commits for a few milliseconds.
pub const APPS_MAX: usize = 50;

/// Where a view came from.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Source {
    /// The visitor's country, where it is known.
    pub country: Option<Country>,
    /// The host that led there; `None` for a direct visit.
    pub referrer: Option<Box<str>>,
}

/// Views that came at the same hour from the same place.
#[derive(Debug, Clone)]
pub struct Views {
    /// When.
    pub hour: i32,
    /// From where.
    pub source: Source,
    /// How many.
    pub count: u64,
}

/// Somebody who looked.
#[derive(Debug, Clone)]
pub struct Visit {
    /// When.
    pub hour: i32,
    /// The visitor's hash of that day.
    pub visitor: u64,
    /// From where, the first time in that hour.
    pub source: Source,
}

/// What was counted of one app since the last time.
#[derive(Debug, Clone)]
pub struct Tally {
    /// The app.
    pub app: AppId,
    /// Whose account is charged.
    pub owner: HumanId,
    /// The app is destroyed: only the account is charged, and nothing is kept of the app.
    pub is_gone: bool,
    /// Flow by the hour, page views not among it.
    pub hours: Vec<(i32, Flows)>,
    /// Page views.
    pub views: Vec<Views>,
    /// Who looked, in order of time.
    pub visits: Vec<Visit>,
}

#[derive(Default)]
struct Seen {
    views: u64,
    visitors: u64,
}

/// What a batch adds, row by row: no row twice, in the order of their keys.
#[derive(Default)]
struct Sums {
    hours: BTreeMap<([u8; 16], i32), (Flows, u64)>,
    accounts: BTreeMap<([u8; 16], i32), Flows>,
    days: BTreeMap<([u8; 16], i32), u64>,
    sources: BTreeMap<([u8; 16], i32, SourceKind, String), Seen>,
    /// Whole rows: no app is there twice.
    sketches: Vec<Args>,
}

/// Adds at most [`APPS_MAX`] tallies of different apps, all or nothing.
///
/// # Errors
/// Any [`crate::StorageError`]; after [`crate::StorageError::MaybeCommitted`] nobody knows, and
/// counting twice would be worse than losing one interval.
pub async fn roll_up(db: &Db, tallies: Vec<Tally>) -> Result<()> {
    db.transaction(tallies, |tx, tallies| {
        Box::pin(async move {
            let mut sums = Sums::default();
            for tally in tallies {
                sums.add_flows(tally);
                if !tally.views.is_empty() && !tally.is_gone {
                    sums.add_views(tx, tally).await?;
                }
            }
            sums.write(tx).await
        })
    })
    .await
}

impl Sums {
    fn add_flows(&mut self, tally: &Tally) {
        let (app, owner) = (tally.app.uuid().into_bytes(), tally.owner.uuid().into_bytes());
        let viewed = tally
            .views
            .iter()
            .map(|views| (views.hour, Flows { page_views: views.count, ..Flows::default() }));
        for (hour, flows) in tally.hours.iter().copied().chain(viewed) {
            if !tally.is_gone {
                self.hours.entry((app, hour)).or_default().0 += flows;
            }
            *self.accounts.entry((owner, hour)).or_default() += flows;
        }
    }

    /// Tells visitors apart. One that comes back on the same day counts where it came from first;
    /// so the countries of a day sum up to the day, and the referrers too.
    async fn add_views(&mut self, tx: &mut Tx, tally: &Tally) -> Result<()> {
        let app = tally.app.uuid().into_bytes();
        let mut sketches: BTreeMap<(i64, i32), VisitorSketch> = BTreeMap::new();
        let mut named: BTreeMap<i32, HashSet<String>> = BTreeMap::new();
        for views in &tally.views {
            let day = day_of_hour(views.hour);
            for key in [(OF_DAY, day), (OF_HOUR, views.hour)] {
                if let Entry::Vacant(place) = sketches.entry(key) {
                    place.insert(stored_sketch(tx, tally.app, key).await?);
                }
            }
            if let Entry::Vacant(place) = named.entry(day) {
                place.insert(stored_referrers(tx, tally.app, day).await?);
            }
        }
        for views in &tally.views {
            let day = day_of_hour(views.hour);
            for (kind, name) in names(&views.source, named.entry(day).or_default()) {
                self.sources.entry((app, day, kind, name)).or_default().views += views.count;
            }
        }
        for visit in &tally.visits {
            let day = day_of_hour(visit.hour);
            let of_hour = sketches.entry((OF_HOUR, visit.hour)).or_default().see(visit.visitor);
            self.hours.entry((app, visit.hour)).or_default().1 += of_hour;
            let of_day = sketches.entry((OF_DAY, day)).or_default().see(visit.visitor);
            if of_day > 0 {
                *self.days.entry((app, day)).or_default() += of_day;
                for (kind, name) in names(&visit.source, named.entry(day).or_default()) {
                    self.sources.entry((app, day, kind, name)).or_default().visitors += of_day;
                }
            }
        }
        for ((kind, period), sketch) in sketches {
            let day = if kind == OF_DAY { period } else { day_of_hour(period) };
            let row = args![app, kind, period, day, sketch.to_bytes().as_slice()];
            self.sketches.push(row);
        }
        Ok(())
    }

    async fn write(self, tx: &mut Tx) -> Result<()> {
        let flow_args = |id: [u8; 16], hour: i32, f: Flows| {
            let Flows { requests, row_writes, feed_polls, page_views, bytes_out } = f;
            args![id, hour, requests, row_writes, feed_polls, page_views, bytes_out]
        };
        let hours = self.hours.into_iter().map(|((app, hour), (flows, visitors))| {
            let mut args: Args = flow_args(app, hour, flows);
            args.extend(args![visitors]);
            args
        });
        tx.insert_many(
            "insert into app_hours (app_id, hour, requests, row_writes, feed_polls, page_views,
                                    bytes_out, visitors)",
            "on conflict (app_id, hour) do update set
                 requests = app_hours.requests + excluded.requests,
                 row_writes = app_hours.row_writes + excluded.row_writes,
                 feed_polls = app_hours.feed_polls + excluded.feed_polls,
                 page_views = app_hours.page_views + excluded.page_views,
                 bytes_out = app_hours.bytes_out + excluded.bytes_out,
                 visitors = app_hours.visitors + excluded.visitors",
            hours.collect(),
        )
        .await?;
        let accounts = self.accounts.into_iter();
        tx.insert_many(
            "insert into account_hours (human_id, hour, requests, row_writes, feed_polls,
                                        page_views, bytes_out)",
            "on conflict (human_id, hour) do update set
                 requests = account_hours.requests + excluded.requests,
                 row_writes = account_hours.row_writes + excluded.row_writes,
                 feed_polls = account_hours.feed_polls + excluded.feed_polls,
                 page_views = account_hours.page_views + excluded.page_views,
                 bytes_out = account_hours.bytes_out + excluded.bytes_out",
            accounts.map(|((human, hour), flows)| flow_args(human, hour, flows)).collect(),
        )
        .await?;
        let days = self.days.into_iter();
        tx.insert_many(
            "insert into app_days (app_id, day, visitors)",
            "on conflict (app_id, day) do update set
                 visitors = app_days.visitors + excluded.visitors",
            days.map(|((app, day), visitors)| args![app, day, visitors]).collect(),
        )
        .await?;
        let sources = self.sources.into_iter().map(|((app, day, kind, name), seen)| {
            args![app, day, kind, name, seen.views, seen.visitors]
        });
        tx.insert_many(
            "insert into app_sources (app_id, day, kind, name, page_views, visitors)",
            "on conflict (app_id, day, kind, name) do update set
                 page_views = app_sources.page_views + excluded.page_views,
                 visitors = app_sources.visitors + excluded.visitors",
            sources.collect(),
        )
        .await?;
        tx.insert_many(
            "insert into visitor_sketches (app_id, kind, period, day, state)",
            "on conflict (app_id, kind, period) do update set state = excluded.state",
            self.sketches,
        )
        .await?;
        Ok(())
    }
}

/// What a source is called in each list; `named` are the day's referrers that have a name there.
fn names(source: &Source, named: &mut HashSet<String>) -> [(SourceKind, String); 2] {
    let country = source.country.map_or_else(|| UNKNOWN_COUNTRY.to_owned(), |c| c.to_string());
    let referrer = match source.referrer.as_deref() {
        None => DIRECT,
        Some(host) if named.contains(host) => host,
        Some(host) if named.len() < REFERRERS_PER_DAY_MAX => {
            named.insert(host.to_owned());
            host
        }
        Some(_) => OTHER,
    };
    [(SourceKind::Country, country), (SourceKind::Referrer, referrer.to_owned())]
}

async fn stored_sketch(
    tx: &mut Tx,
    app: AppId,
    (kind, period): (i64, i32),
) -> Result<VisitorSketch> {
    let state: Option<Arc<[u8]>> = tx
        .value(
            "select state from visitor_sketches
             where app_id = $1 and kind = $2 and period = $3",
            args![app, kind, period],
        )
        .await?;
    let Some(state) = state else { return Ok(VisitorSketch::default()) };
    // One that cannot be read must not keep all that many apps used from being counted.
    Ok(VisitorSketch::from_bytes(&state).unwrap_or_else(|| {
        tracing::error!(app.id = %app, kind, period, "visitors cannot be read: they begin anew");
        VisitorSketch::default()
    }))
}

async fn stored_referrers(tx: &mut Tx, app: AppId, day: i32) -> Result<HashSet<String>> {
    let names: Vec<String> = tx
        .column(
            "select name from app_sources where app_id = $1 and day = $2 and kind = $3",
            args![app, day, SourceKind::Referrer],
        )
        .await?;
    Ok(names.into_iter().filter(|name| name != DIRECT && name != OTHER).collect())
}
