//! Every operation of the generated document, asked by every kind of caller. Nothing is listed here
//! by hand but what bodies look like: a route that is added is walked. Who may do what with rows is
//! the matrix's.

mod callers;
mod document;
mod house;

use callers::{Elsewhere, ON_APP, ON_SITE, Promise, Who, ask, promise};
use document::{Integer, Operation, body_of};
use house::House;
use reqwest::RequestBuilder;
use rookery_domain::{ErrorCode, id::AppId};
use serde_json::{Value, json};

use crate::harness::{Answer, TestServer};

/// Who asks for an operation.
fn callers(operation: &Operation) -> &'static [Who] {
    if operation.on_app_origin() { &ON_APP } else { &ON_SITE }
}

/// Somebody whom the operation lets in, and reads what is asked.
fn insider(operation: &Operation) -> Who {
    match operation {
        one if one.on_app_origin() => Who::Visitor(3),
        one if one.accepts("human_session") => Who::Owner,
        one if one.accepts("agent_key") => Who::OwnersAgent,
        _ => Who::Nobody,
    }
}

async fn answer(request: RequestBuilder, operation: &Operation) -> Answer {
    Answer::of(match operation.takes_body {
        true => request.json(&body_of(operation)),
        false => request,
    })
    .await
}

/// An answer without what is each request's own.
fn told(answer: &Answer) -> (u16, Value) {
    let mut body = answer.json();
    body["error"]["request_id"] = Value::Null;
    (answer.status, body)
}

#[tokio::test]
async fn whoever_is_refused_gets_the_documented_code_and_changes_nothing() {
    let server = TestServer::start().await;
    let (_, operations) = document::read(&server).await;
    let house = House::build(&server, "here").await;
    let elsewhere = Elsewhere::of(&server, &house).await;
    let before = house.seen().await;
    let feed = house.feed(None).await;
    let mut wrong = Vec::new();
    let mut asked = 0;
    for operation in &operations {
        let Operation { method, template, .. } = operation;
        for who in callers(operation) {
            let promised = promise(*who, operation);
            if promised == Promise::LetIn {
                continue;
            }
            asked += 1;
            let send = async |absent| {
                let path = house.path(operation, absent);
                answer(ask(*who, &house, &elsewhere, method, &path), operation).await
            };
            let said = send(false).await;
            let code = said.json()["error"]["code"].as_str().unwrap_or_default().to_owned();
            let fits = match promised {
                Promise::Refused(promised) => code == promised.as_str(),
                // An agent's other key may be forbidden, as long as it may be none at all.
                _ => {
                    let absent = ["app_not_found", "not_found", "forbidden"].contains(&&*code);
                    absent && told(&said) == told(&send(true).await)
                }
            };
            let documented = operation.tells(&code);
            if !fits || !documented {
                wrong.push(format!("{who:?} {method} {template}: {code}, not {promised:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {asked}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(asked > 1_000, "only {asked} asked");
    assert_eq!(house.seen().await, before);
    let since = feed["cursor"].as_str().expect("a cursor");
    assert_eq!(house.feed(Some(since)).await["events"], json!([]));
}

#[tokio::test]
async fn whoever_is_let_in_gets_what_the_document_describes() {
    let server = TestServer::start().await;
    let (document, operations) = document::read(&server).await;
    let first = House::build(&server, "first").await;
    let elsewhere = Elsewhere::of(&server, &first).await;
    let mut wrong = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        // Each operation has a house of its own: some of them take it apart.
        let house = House::build(&server, &format!("house{at}")).await;
        for who in callers(operation) {
            if promise(*who, operation) != Promise::LetIn {
                continue;
            }
            let Operation { method, template, .. } = operation;
            let path = house.path(operation, false);
            let said = answer(ask(*who, &house, &elsewhere, method, &path), operation).await;
            if let Some(what) = operation.undocumented(&document, &said) {
                wrong.push(format!("{who:?} {method} {template}: {what}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn every_body_is_read_strictly() {
    let server = TestServer::start().await;
    let (_, operations) = document::read(&server).await;
    let house = House::build(&server, "here").await;
    let elsewhere = Elsewhere::of(&server, &house).await;
    let body = json!({"odd": 1});
    // What takes no body must not pass over one: it may say what alone was meant, or how far.
    for operation in operations.iter().filter(|operation| !operation.is_safe()) {
        let path = house.path(operation, false);
        let request = ask(insider(operation), &house, &elsewhere, &operation.method, &path);
        let said = Answer::of(request.json(&body)).await;
        if said.status == 501 {
            // What the operator has not set up says so, whatever it is asked.
            continue;
        }
        assert!(said.text.contains("odd"), "{} {}: {}", operation.method, path, said.text);
        said.error(ErrorCode::InvalidRequest);
    }
}

/// To JSON Schema `5.0` is an integer, and so it is to the document.
#[tokio::test]
async fn every_integer_of_a_body_tells_its_bounds_and_may_have_a_fraction_of_zero() {
    let server = TestServer::start().await;
    let (_, operations) = document::read(&server).await;
    let house = House::build(&server, "here").await;
    let elsewhere = Elsewhere::of(&server, &house).await;
    let mut asked = 0;
    for operation in &operations {
        for Integer { name, minimum, maximum } in &operation.integers {
            let path = house.path(operation, false);
            let send = async |number: Value| {
                let mut body = body_of(operation);
                match name.split_once("[].") {
                    Some((list, member)) => body[list] = json!([{"key": "none", member: number}]),
                    None => body[name] = json!(number),
                }
                let request = ask(insider(operation), &house, &elsewhere, &operation.method, &path);
                Answer::of(request.json(&body)).await
            };
            let member = name.rsplit('.').next().expect("a name");
            let what = format!("{} {path}: {name}", operation.method);
            assert!(!send(json!(5.0)).await.text.contains(&format!("{member}`:")), "{what}");
            let bounds = format!("{member}`: expected a whole number from {minimum} to {maximum}");
            let beyond = json!(maximum.cast_unsigned() + 1);
            for wrong in [json!(5.5), json!(minimum - 1), beyond, json!(1e300), json!("5")] {
                let said = send(wrong).await;
                let refused = said.error(ErrorCode::InvalidRequest);
                let message = refused["message"].as_str().expect("a message");
                assert!(message.ends_with(&bounds), "{what}: {message}");
            }
            asked += 1;
        }
    }
    assert!(asked > 15, "only {asked} asked");
}

#[tokio::test]
async fn a_malformed_id_answers_like_an_unknown_one() {
    let server = TestServer::start().await;
    let (_, operations) = document::read(&server).await;
    let house = House::build(&server, "here").await;
    let elsewhere = Elsewhere::of(&server, &house).await;
    let is_id = |part: &str| part.split_once('_').is_some_and(|(_, rest)| rest.len() == 26);
    let fresh = AppId::new().to_string();
    let suffix = fresh.strip_prefix("app").expect("an app's id");
    let mut asked = 0;
    for operation in &operations {
        let path = house.path(operation, false);
        let Some(id) = path.split('/').rfind(|part| is_id(part)) else { continue };
        let (prefix, _) = id.split_once('_').expect("an id");
        let send = async |other: &str| {
            let path = path.replace(id, other);
            let request = ask(insider(operation), &house, &elsewhere, &operation.method, &path);
            told(&answer(request, operation).await)
        };
        let unknown = send(&format!("{prefix}{suffix}")).await;
        if unknown.0 == 501 {
            continue;
        }
        asked += 1;
        for malformed in [format!("{prefix}_short"), format!("xyz{suffix}"), "%ff".into()] {
            let said = send(&malformed).await;
            assert_eq!(said, unknown, "{} {path}: {malformed}", operation.method);
        }
    }
    assert!(asked > 60, "only {asked} asked");
}

#[tokio::test]
async fn no_parameter_of_a_query_holds_nul() {
    let server = TestServer::start().await;
    let (_, operations) = document::read(&server).await;
    let house = House::build(&server, "here").await;
    let elsewhere = Elsewhere::of(&server, &house).await;
    let mut asked = 0;
    for operation in &operations {
        for name in &operation.query {
            let path = format!("{}?{name}=a%00b", house.path(operation, false));
            let request = ask(insider(operation), &house, &elsewhere, &operation.method, &path);
            let said = answer(request, operation).await;
            if said.status == 501 {
                // What the operator has not set up says so, whatever it is asked.
                continue;
            }
            asked += 1;
            let error = said.error(ErrorCode::InvalidRequest);
            let message = error["message"].as_str().expect("a message");
            assert!(message.contains(name.as_str()), "{} {path}: {message}", operation.method);
        }
    }
    assert!(asked > 50, "only {asked} asked");
}
