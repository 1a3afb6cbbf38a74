//! What the server holds: rows, the trash, and the numbers that count them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{api::Api, failure::Result, journal::Row, verdict::Violations, world::App};

/// Every row, the trash included.
pub(super) async fn found(api: &Api, app: &App) -> Result<BTreeMap<String, Row>> {
    let mut all = BTreeMap::new();
    for (below, is_deleted) in [("", false), ("/deleted", true)] {
        let mut cursor = String::new();
        loop {
            let path = format!("{}{below}?limit=200{cursor}", app.rows());
            let page = api.get(&path).await?;
            for row in page["items"].as_array().into_iter().flatten() {
                let key = row["key"].as_str().unwrap_or_default().to_owned();
                let version = row["version"].as_u64().unwrap_or(0);
                all.insert(key, Row { version, data: row["data"].clone(), is_deleted });
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
    }
    Ok(all)
}

/// The app's record and the count tell what the rows tell.
pub(super) async fn judge_counters(
    api: &Api,
    app: &App,
    found: &BTreeMap<String, Row>,
    violations: &mut Violations,
) -> Result<()> {
    let deleted = found.values().filter(|row| row.is_deleted).count();
    let live = found.len() - deleted;
    let kept = found.iter().filter(|(_, row)| !row.is_deleted);
    let bytes: usize = kept.map(|(key, row)| key.len() + row.data.to_string().len()).sum();
    let record = api.get(&format!("/v1/apps/{}", app.id)).await?;
    let collection = |name: &str| {
        let mut all = record["collections"].as_array().into_iter().flatten();
        all.find(|one| one["name"] == name).cloned().unwrap_or_default()
    };
    let (rows, guests) = (collection("rows"), collection("guests"));
    let count = api.get(&format!("{}/count", app.rows())).await?;
    let guest_rows = guests["row_count"].as_u64().unwrap_or(0);
    let mut same = |what: &str, told: &Value, is: u64| {
        violations.unless(told.as_u64() == Some(is), || format!("{what}: told {told}, is {is}"));
    };
    same("row_count", &rows["row_count"], live as u64);
    same("deleted_count", &rows["deleted_count"], deleted as u64);
    same("count", &count["count"], live as u64);
    same("usage.rows", &record["usage"]["rows"], live as u64 + guest_rows);
    // Guests' bytes are not known here; without guests the sum is exact.
    if guest_rows == 0 {
        same("usage.storage_bytes", &record["usage"]["storage_bytes"], bytes as u64);
    }
    Ok(())
}
