//! What everybody hears of the walk: the feed of each caller from before it, as JSON and the last
//! of it as a stream, and custom events.

use std::time::Duration;

use futures::StreamExt as _;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    callers::{Pass, Who},
    lists::name,
    model::{Collection, hears_ping, ping},
    setup::House,
};
use crate::harness::Answer;

/// Longest that a stream may take to say what it has to.
const STREAM_MAX: Duration = Duration::from_secs(20);
/// Events of the last page, which is read as a stream too.
const LAST: usize = 150;

/// Type, collection and key of an event, in one line.
fn line(event: &Value) -> String {
    let text = |name: &str| event[name].as_str().unwrap_or_default();
    format!("{} {} {}", text("type"), text("collection"), text("key"))
}

/// Where what is heard differs from the model.
pub async fn differences(house: &House, collections: &[Collection]) -> Vec<String> {
    let mut differences = Vec::new();
    let mut senders = Vec::new();
    for (who, pass) in &house.callers {
        let server = &house.world.server;
        let request = pass.ask(server, &house.place, Method::POST, "events");
        let answer = Answer::of(request.json(&json!({"type": "ping", "data": {}}))).await;
        let said = match answer.json()["error"]["code"].as_str() {
            Some(code) => code.to_owned(),
            None => answer.status.to_string(),
        };
        let expected = match pass {
            Pass::Refused(code, _) => code,
            _ => ping(*who),
        };
        if said != expected {
            differences.push(format!("{who:?} sends an event: {said}, and not {expected}"));
        } else if said == "201" {
            senders.push(*who);
        }
    }
    for (who, pass) in &house.callers {
        if let Pass::Refused(code, _) = pass {
            for accept in ["application/json", "text/event-stream"] {
                let request = pass.ask(&house.world.server, &house.place, Method::GET, "feed");
                let answer = Answer::of(request.header("accept", accept)).await;
                let said = answer.json()["error"]["code"].clone();
                if said != *code {
                    differences.push(format!("{who:?} follows: {said}, and not {code}"));
                }
            }
            continue;
        }
        let (heard, last) = follow(house, *who, pass).await;
        let mut pings = 0;
        let mut by_collection: std::collections::HashMap<&str, Vec<String>> = Default::default();
        for event in &heard {
            match event["collection"].as_str() {
                Some(collection) => by_collection.entry(collection).or_default().push(line(event)),
                None if event["type"] == "event.ping" => pings += 1,
                None => differences.push(format!("{who:?} hears {event}")),
            }
        }
        let expected = senders.iter().filter(|sender| hears_ping(*who, **sender)).count();
        if pings != expected {
            differences.push(format!("{who:?} hears {pings} custom events, and not {expected}"));
        }
        for collection in collections {
            let name = name(collection.at);
            let said = by_collection.remove(&*name).unwrap_or_default();
            let wanted: Vec<String> = collection
                .heard(*who)
                .into_iter()
                .map(|(kind, key)| format!("{kind} {name} {key}"))
                .collect();
            if said != wanted {
                let (said, wanted) = first_difference(&said, &wanted);
                differences.push(format!(
                    "{who:?} hears {said}, and not {wanted}\n    {:?}",
                    collection.lists
                ));
            }
        }
        if let Some(difference) = stream(house, *who, pass, &last, &heard).await {
            differences.push(difference);
        }
    }
    differences
}

fn first_difference<'a>(said: &'a [String], wanted: &'a [String]) -> (&'a str, &'a str) {
    let at = said.iter().zip(wanted).take_while(|(one, other)| one == other).count();
    let at_place = |list: &'a [String]| list.get(at).map_or("nothing more", String::as_str);
    (at_place(said), at_place(wanted))
}

/// Everything a caller hears since before the walk, and the cursor before the last page of it.
async fn follow(house: &House, who: Who, pass: &Pass) -> (Vec<Value>, String) {
    let mut cursor = house.since.iter().find(|one| one.0 == who).expect("a cursor").1.clone();
    let mut last = cursor.clone();
    let mut heard = Vec::new();
    loop {
        let rest = format!("feed?since={cursor}&wait=0&limit={LAST}");
        let request = pass.ask(&house.world.server, &house.place, Method::GET, &rest);
        let page = Answer::of(request).await.expect(200);
        let events = page["events"].as_array().expect("events");
        if !events.is_empty() {
            last = cursor;
        }
        heard.extend(events.iter().cloned());
        cursor = page["cursor"].as_str().expect("a cursor").to_owned();
        if page["more"] == false {
            return (heard, last);
        }
    }
}

/// Reads the last page as a stream; what differs, if anything does.
async fn stream(
    house: &House,
    who: Who,
    pass: &Pass,
    since: &str,
    heard: &[Value],
) -> Option<String> {
    let rest = format!("feed?since={since}&wait=0&limit=200");
    let request = pass.ask(&house.world.server, &house.place, Method::GET, &rest);
    let page = Answer::of(request).await.expect(200);
    let wanted: Vec<String> = page["events"].as_array().expect("events").iter().map(line).collect();
    assert!(heard.len() >= wanted.len());
    let rest = format!("feed?since={since}");
    let request = pass.ask(&house.world.server, &house.place, Method::GET, &rest);
    let response = request.header("accept", "text/event-stream").send().await.expect("an answer");
    let mut chunks = response.bytes_stream();
    let (mut text, mut said) = (String::new(), Vec::new());
    let read = async {
        while said.len() < wanted.len() {
            let Some(Ok(chunk)) = chunks.next().await else { break };
            text.push_str(&String::from_utf8_lossy(&chunk));
            while let Some((frame, after)) = text.split_once("\n\n") {
                let data = frame.lines().find_map(|line| line.strip_prefix("data: "));
                said.extend(
                    data.map(|data| line(&serde_json::from_str(data).expect("an event in JSON"))),
                );
                text = after.to_owned();
            }
        }
    };
    let in_time = tokio::time::timeout(STREAM_MAX, read).await.is_ok();
    (!in_time || said != wanted).then(|| {
        let (said, wanted) = first_difference(&said, &wanted);
        format!("{who:?} hears in its stream {said}, and not {wanted}")
    })
}
