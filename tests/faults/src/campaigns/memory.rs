//! A memory budget that is far too small for all apps that are asked: resident bytes follow it, and
//! apps that hibernated come back with their rows.

use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use reqwest::Method;
use serde_json::json;

use crate::{
    api::{Api, expect, text},
    failure::{Failure, Result},
    verdict::Verdict,
    world::World,
};

/// Apps of the long form, and rows of each.
const APPS: usize = 100_000;
const ROWS: usize = 10;
/// Requests at the same time.
const AT_ONCE: usize = 32;
/// The lowered budget, as a part of what all apps take.
const BUDGET_PART: u64 = 4;
/// Time for the resident bytes to get below the budget once nobody asks any more.
const FOLLOW_MAX: Duration = Duration::from_secs(60);
/// The setting.
const BUDGET: &str = "ROOKERY__APPS__MEMORY_BUDGET_BYTES";

/// Runs it.
///
/// # Errors
/// When it could not be carried out.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let apps = world.count(APPS, 100);
    let target = format!(
        "{apps} live apps of {ROWS} rows, then the budget lowered to a quarter of what they take: \
         resident bytes follow, hibernated apps wake correctly"
    );
    let mut verdict = Verdict::new("memory", target);
    let scratch = tempfile::tempdir()?;
    let launch = world.launch(scratch.path()).set("ROOKERY__APPS__IDLE_AFTER_S", 86_400);
    let server = launch.clone().set(BUDGET, 1_u64 << 40).start().await?;
    let api = Api::enroll(&server.url, "owner@example.org").await?;
    let ids: Vec<String> = stream::iter(0..apps)
        .map(|n| deploy(&api, n))
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    let all = resident(&api, &server.ops).await?;
    verdict.saw(format!(
        "{apps} live apps take {} KiB in {} MiB of process memory",
        all.bytes >> 10,
        server.resident_bytes() >> 20
    ));
    verdict.violations.unless(all.live == apps as u64, || format!("{} are live", all.live));
    super::kill::stop(server).await?;

    // A setting is read at the start: the budget is lowered by a restart, and everybody asked
    // again.
    let budget = all.bytes / BUDGET_PART;
    let server = launch.set(BUDGET, budget).start().await?;
    let api = api.at(&server.url);
    let begin = Instant::now();
    let mut most = 0;
    for part in ids.chunks(1_000) {
        wake(&api, part, &mut verdict).await?;
        most = most.max(resident(&api, &server.ops).await?.bytes);
    }
    let asked = begin.elapsed();
    let begin = Instant::now();
    let mut now = resident(&api, &server.ops).await?;
    while now.bytes > budget && begin.elapsed() < FOLLOW_MAX {
        tokio::time::sleep(Duration::from_millis(100)).await;
        now = resident(&api, &server.ops).await?;
    }
    verdict.expect(
        now.bytes <= budget,
        format!(
            "budget {} KiB: {} KiB resident {:.1} s after the last request, {} KiB at most; {} \
             apps live, {} hibernated",
            budget >> 10,
            now.bytes >> 10,
            begin.elapsed().as_secs_f64(),
            most >> 10,
            now.live,
            apps as u64 - now.live
        ),
    );
    // The first ones have hibernated by now.
    let first = &ids[..ids.len().min(1_000)];
    wake(&api, first, &mut verdict).await?;
    verdict.saw(format!("all asked once in {:.1} s, the first again", asked.as_secs_f64()));
    super::kill::stop(server).await?;
    Ok(verdict)
}

async fn deploy(api: &Api, n: usize) -> Result<String> {
    let everybody = json!({"read": ["owner"], "write": ["owner"], "delete": ["owner"]});
    let record = api.deploy(&json!({"collections": {"rows": {"permissions": everybody}}})).await?;
    let id = text(&record["id"])?;
    let rows: Vec<_> = (0..ROWS)
        .map(|row| json!({"key": format!("k{row}"), "data": {"app": n, "row": row}}))
        .collect();
    let batch = api.request(Method::POST, &format!("/v1/apps/{id}/collections/rows/batch"));
    expect(batch.json(&json!({"rows": rows})), 200).await?;
    Ok(id)
}

/// Asks each of these apps for its rows.
async fn wake(api: &Api, ids: &[String], verdict: &mut Verdict) -> Result<()> {
    let counts: Vec<usize> = stream::iter(ids)
        .map(async |id| {
            let page = api.get(&format!("/v1/apps/{id}/collections/rows")).await?;
            Ok::<_, Failure>(page["items"].as_array().map_or(0, Vec::len))
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    let wrong = counts.iter().filter(|count| **count != ROWS).count();
    verdict.violations.unless(wrong == 0, || format!("{wrong} apps woke without their rows"));
    Ok(())
}

struct Resident {
    bytes: u64,
    live: u64,
}

async fn resident(api: &Api, ops: &str) -> Result<Resident> {
    let metrics = api.client.get(format!("{ops}/metrics")).send().await?.text().await?;
    let value = |name: &str| {
        let found = metrics.lines().find_map(|line| line.strip_prefix(name));
        found.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    Ok(Resident {
        bytes: value("rookery_resident_bytes "),
        live: value("rookery_apps{state=\"live\"} "),
    })
}
