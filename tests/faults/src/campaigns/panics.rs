//! Actors panic by the thousand: their neighbours hardly notice, no request hangs, nothing is lost.
//! And a stored row that cannot be read is set aside: its app starts without it.

use std::time::Duration;

use reqwest::Method;
use rookery_storage::{Db, StorageOptions, faults};
use serde_json::json;

use crate::{
    api::{Api, expect},
    failure::{Failure, Result},
    pulse::{Quiet, factor},
    serve,
    server::{Launch, Server},
    verdict::Verdict,
    world::{App, World},
};

/// Panics of the long form.
const PANICS: usize = 10_000;
/// Panics of one app: the first two of a streak restart at once.
const PANICS_PER_APP: usize = 2;
/// Healthy apps beside them, and requests a second to all of those.
const QUIET_APPS: usize = 20;
const QUIET_PER_SECOND: u32 = 200;
/// Panics a second: thousands within a minute.
const PANICS_PER_SECOND: u32 = 200;
/// How long the healthy apps are measured alone.
const ALONE: Duration = Duration::from_secs(5);
/// What the neighbours' p99 may rise to.
const FACTOR_MAX: f64 = 1.2;

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let panics = world.count(PANICS, 40);
    let target = format!(
        "{panics} panics: the others' p99 at most {FACTOR_MAX} of alone, no request hangs; a \
         poison row is set aside"
    );
    let mut verdict = Verdict::new("panics", target);
    let scratch = tempfile::tempdir()?;
    let launch = world.launch(scratch.path());
    let mut server = launch.clone().set(serve::ORDERS, "on").start().await?;
    let api = Api::enroll(&server.url, "owner@example.org").await?;
    let quiet = Quiet::deploy(&api, QUIET_APPS).await?;
    let mut apps = Vec::new();
    for _ in 0..panics.div_ceil(PANICS_PER_APP) {
        let app = App::deploy(&api).await?;
        write(&api, &app, "before").await?;
        apps.push(app);
    }
    let alone = quiet.alone(QUIET_PER_SECOND, world.time(ALONE)).await?;
    // The same writes with and without panics: what differs is theirs.
    let pulse = quiet.start(QUIET_PER_SECOND);
    let (_, failed) = visit(&mut server, &api, &apps, "check").await?;
    let without = pulse.stop().await?;
    let pulse = quiet.start(QUIET_PER_SECOND);
    let (happened, hanging) = visit(&mut server, &api, &apps, "panic").await?;
    let beside = pulse.stop().await?;
    for words in failed.iter().chain(&hanging) {
        verdict.violations.add(words.clone());
    }
    for words in [&alone, &without, &beside].into_iter().flat_map(|felt| &felt.failed) {
        verdict.violations.add(format!("a neighbour: {words}"));
    }
    let times = factor(beside.p99(), without.p99());
    verdict.expect(happened == panics.div_ceil(2) * 2, format!("{happened} panics"));
    verdict.expect(
        times <= FACTOR_MAX,
        format!(
            "neighbours' p99 {:.1?} beside panics, {:.1?} beside the same writes without panics: \
             {times:.2} times ({:.1?} alone)",
            beside.p99(),
            without.p99(),
            alone.p99()
        ),
    );
    for app in &apps {
        let count = api.get(&format!("{}/count", app.rows())).await?["count"].as_u64();
        let expected = 1 + 2 * PANICS_PER_APP as u64;
        verdict.violations.unless(count == Some(expected), || {
            format!("{}: {count:?} rows of {expected} after its panics", app.id)
        });
    }
    let app = apps.first().ok_or_else(|| Failure::new("no app"))?;
    poison(world, &launch, server, &api, app, &mut verdict).await?;
    Ok(verdict)
}

/// Gives each app the order as often as it may panic, and writes to it after each time; how often
/// the order was carried out, and which writes failed.
async fn visit(
    server: &mut Server,
    api: &Api,
    apps: &[App],
    order: &str,
) -> Result<(usize, Vec<String>)> {
    let mut tick = tokio::time::interval(Duration::from_secs(1) / PANICS_PER_SECOND);
    let (mut done, mut failed) = (0, Vec::new());
    for app in apps {
        for n in 0..PANICS_PER_APP {
            tick.tick().await;
            done += usize::from(server.order(&format!("{order} {}", app.id)).await?);
            // The next request finds the app alive again.
            if let Err(Failure(words)) = write(api, app, &format!("{order}{n}")).await {
                failed.push(format!("after a {order}: {words}"));
            }
        }
    }
    Ok((done, failed))
}

async fn write(api: &Api, app: &App, key: &str) -> Result<()> {
    let row = json!({"key": key, "data": {"name": key}});
    expect(api.request(Method::POST, &app.rows()).json(&row), 201).await.map(drop)
}

/// Damages a stored row; its app must start without it and say so.
async fn poison(
    world: &World,
    launch: &Launch,
    server: Server,
    api: &Api,
    app: &App,
    verdict: &mut Verdict,
) -> Result<()> {
    super::kill::stop(server).await?;
    let options = match &world.database_url {
        Some(url) => StorageOptions::postgres(url, &launch.data),
        None => StorageOptions::sqlite(&launch.data),
    };
    let failed = |error: rookery_storage::StorageError| Failure(error.to_string());
    let db = Db::connect(&options).await.map_err(failed)?;
    let id = app.id.parse().map_err(|_| Failure::new("an app's id"))?;
    let damaged = faults::damage::row(&db, id, "panic0").await.map_err(failed)?;
    db.close().await;
    drop(db);
    let log_before = launch.log_lines();
    let server = launch.start().await?;
    let api = api.at(&server.url);
    let page = api.get(&app.rows()).await?;
    let rows = page["items"].as_array().map_or(0, Vec::len);
    write(&api, app, "later").await?;
    // The log is written behind the server's back, and complete once it has ended.
    super::kill::stop(server).await?;
    let log = launch.log_lines() - log_before;
    verdict.violations.unless(damaged && rows == 2 * PANICS_PER_APP, || {
        format!("beside a poison row {rows} rows are served, not {}", 2 * PANICS_PER_APP)
    });
    verdict.violations.unless(log > 0, || "a poison row that nobody reports".to_owned());
    verdict.saw(format!(
        "a poison row was set aside and reported; its app serves the other {rows} and takes more"
    ));
    Ok(())
}
