//! What a recovered server answers when it is asked again: idempotency records and unique indexes
//! agree with the rows.

use reqwest::Method;
use serde_json::{Value, json};

use super::Book;
use crate::{
    api::Api,
    failure::Result,
    journal::{Journal, Row, Step, Told},
    verdict::Violations,
    world::App,
};

/// Acknowledged creations that are asked for again in each check.
const REPLAYS: usize = 8;

/// Asks for open creations again, and for some acknowledged ones; `applied` says for each open
/// step whether its rows were found.
pub(super) async fn ask_again(
    api: &Api,
    app: &App,
    book: &mut Book,
    journal: &Journal,
    applied: Vec<bool>,
    violations: &mut Violations,
) -> Result<()> {
    for (n, (step, is_applied)) in journal.open.iter().zip(applied).enumerate() {
        if step.idempotency.is_none() {
            continue;
        }
        // Half of those that were not applied lose their unique value to another row instead.
        let name = step.body["data"]["name"].as_str();
        if let (false, Some(name), true) = (is_applied, name, n % 2 == 0) {
            probe(api, app, book, name, 201, violations).await;
            continue;
        }
        again(api, app, step, is_applied, violations).await?;
        book.rows.extend(step.effect.iter().cloned());
        if let Some(name) = name {
            probe(api, app, book, name, 409, violations).await;
        }
    }
    let every = journal.replayable.len() / REPLAYS + 1;
    for step in journal.replayable.iter().step_by(every) {
        again(api, app, step, true, violations).await?;
        if let Some(name) = step.body["data"]["name"].as_str() {
            probe(api, app, book, name, 409, violations).await;
        }
    }
    Ok(())
}

/// The same request again: replayed if it was applied, else done now.
async fn again(
    api: &Api,
    app: &App,
    step: &Step,
    is_applied: bool,
    violations: &mut Violations,
) -> Result<()> {
    let answer = step.send(api, &app.rows()).await?;
    let status = answer.status().as_u16();
    let replayed = answer.headers().contains_key("idempotent-replayed");
    violations.unless(status == step.status && replayed == is_applied, || {
        let key = step.idempotency.as_deref().unwrap_or_default();
        format!("{key} again: {status}, replayed {replayed}; its rows are there: {is_applied}")
    });
    Ok(())
}

/// Creates another row with this unique value.
async fn probe(
    api: &Api,
    app: &App,
    book: &mut Book,
    name: &str,
    status: u16,
    violations: &mut Violations,
) {
    let (key, data): (String, Value) = (format!("{name}-probe"), json!({"name": name}));
    let step = Step {
        method: Method::POST,
        path: String::new(),
        body: json!({"key": key, "data": data}),
        idempotency: None,
        status,
        effect: match status {
            201 => vec![(key, Row { version: 1, data, is_deleted: false })],
            _ => Vec::new(),
        },
    };
    match step.ask(api, &app.rows()).await {
        Told::Done | Told::Refused => book.rows.extend(step.effect),
        told => violations.add(format!("the unique value {name}: expected {status}, {told:?}")),
    }
}
