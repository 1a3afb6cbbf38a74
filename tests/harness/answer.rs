//! Reading an answer: status, headers, body, and the error envelope with all its members.

use std::io::Read as _;

use flate2::read::GzDecoder;
use reqwest::{RequestBuilder, header::HeaderMap};
use rookery_domain::ErrorCode;
use serde_json::Value;

/// A token with another last character: well formed, and never the true one.
pub fn forged(token: &str) -> String {
    let (start, last) = token.split_at(token.len() - 1);
    format!("{start}{}", if last == "x" { "y" } else { "x" })
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    /// Sends `request` and reads the answer.
    pub async fn of(request: RequestBuilder) -> Self {
        let response = request.send().await.expect("the server answers");
        let status = response.status().as_u16();
        let headers = response.headers().clone();
        let text = response.text().await.expect("the answer is complete");
        Self { status, headers, text }
    }

    /// The same for a client that takes gzip, unpacked, with the bytes that came over the wire.
    pub async fn packed(request: RequestBuilder) -> (Self, usize) {
        let request = request.header("accept-encoding", "br, gzip;q=0.8");
        let response = request.send().await.expect("the server answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        assert_eq!(headers["content-encoding"], "gzip", "{headers:?}");
        let vary = headers["vary"].to_str().expect("names of headers");
        assert!(vary.split(", ").any(|name| name == "accept-encoding"), "{vary}");
        let bytes = response.bytes().await.expect("the answer is complete");
        let mut text = String::new();
        GzDecoder::new(&*bytes).read_to_string(&mut text).expect("gzip of a text");
        (Self { status, headers, text }, bytes.len())
    }

    /// The value of a header that must be there.
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        let value = value.unwrap_or_else(|| panic!("no header {name} in {:?}", self.headers));
        value.to_str().expect("a header in ASCII")
    }

    /// The cookie that it sets, as a browser sends it back: `name=value`.
    pub fn cookie(&self) -> String {
        let cookie = self.header("set-cookie");
        cookie.split(';').next().expect("a cookie").to_owned()
    }

    /// The session of the site that it begins, as that cookie.
    pub fn session(&self) -> Option<String> {
        let cookies = self.headers.get_all("set-cookie").iter();
        let mut pairs = cookies.filter_map(|it| it.to_str().ok()?.split(';').next());
        pairs.find(|pair| pair.starts_with("service_session=")).map(str::to_owned)
    }

    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{error} in {:?}", self.text))
    }

    /// The JSON body of an answer with this status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()
    }

    /// The `error` member, after checking everything that follows from its code.
    #[track_caller]
    pub fn error(&self, code: ErrorCode) -> Value {
        let error = self.error_of_its_own(code);
        assert_eq!(error["hint"], code.hint());
        error
    }

    /// The same for an error whose hint is not the one that the table has for its code.
    #[track_caller]
    pub fn error_of_its_own(&self, code: ErrorCode) -> Value {
        let body = self.json();
        let error = &body["error"];
        assert_eq!(error["code"], code.as_str(), "{}", self.text);
        assert_eq!(self.status, code.status());
        assert_eq!(error["status"], code.status());
        assert_eq!(error["retryable"], code.retryable());
        assert_eq!(error["request_id"], self.header("x-request-id"));
        let docs_url = error["docs_url"].as_str().expect("docs_url is text");
        assert!(docs_url.ends_with(&format!("/reference/errors#{code}")), "{docs_url}");
        assert!(!error["message"].as_str().expect("message is text").is_empty());
        assert_eq!(self.headers.contains_key("retry-after"), code.retryable());
        assert_eq!(self.header("content-type"), "application/json");
        error.clone()
    }
}

/// How many of the answers to a race have this status; everybody else is told this code.
#[track_caller]
pub fn won(answers: &[Answer], status: u16, code: ErrorCode) -> usize {
    let (winners, losers): (Vec<_>, Vec<_>) =
        answers.iter().partition(|answer| answer.status == status);
    for loser in losers {
        loser.error(code);
    }
    winners.len()
}

/// The keys of the rows on a page of a list.
#[track_caller]
pub fn keys(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().expect("items");
    items.iter().map(|row| row["key"].as_str().expect("a key")).collect()
}

/// The types of the events on a page of a feed.
#[track_caller]
pub fn kinds(page: &Value) -> Vec<&str> {
    let events = page["events"].as_array().expect("events").iter();
    events.map(|event| event["type"].as_str().expect("a type")).collect()
}

/// `value` with ids, times and addresses of this run replaced by what they are, for snapshots.
pub fn redact(mut value: Value) -> Value {
    match &mut value {
        Value::String(text) => *text = redact_text(text),
        Value::Array(items) => {
            for item in items {
                *item = redact(item.take());
            }
        }
        Value::Object(members) => {
            for (_, member) in members.iter_mut() {
                *member = redact(member.take());
            }
        }
        _ => {}
    }
    value
}

fn redact_text(text: &str) -> String {
    if let Some((prefix, suffix)) = text.split_once('_')
        && suffix.len() == 26
        && prefix.len() == 3
    {
        return format!("[{prefix}]");
    }
    let time = text.len() == 24 && text.ends_with('Z') && text.as_bytes()[10] == b'T';
    if time {
        return "[time]".to_owned();
    }
    match text.strip_prefix("http://localhost:") {
        Some(rest) => format!("[site]{}", rest.trim_start_matches(|c: char| c.is_ascii_digit())),
        None => text.to_owned(),
    }
}
