//! One collection, walked by everybody: each operation is sent and compared with the model, which
//! then knows what has changed.

use reqwest::Method;
use serde_json::{Value, json};

use super::{
    callers::{Pass, Who},
    lists::name,
    model::{Collection, Outcome},
    setup::{CREATED, EDITED, FOREIGN, House, MINE, key},
};
use crate::harness::Answer;

/// The walk through one collection.
pub struct Run<'a> {
    house: &'a House,
    pub collection: Collection,
    /// Where the service and the model differ.
    pub differences: Vec<String>,
    /// Requests sent.
    pub asked: usize,
}

/// What a model's list is.
type Listed = Result<Vec<String>, Outcome>;

impl<'a> Run<'a> {
    pub fn of(house: &'a House, at: usize) -> Self {
        let collection = house.collections[at].clone();
        Self { house, collection, differences: Vec::new(), asked: 0 }
    }

    /// Everybody, one after the other.
    pub async fn walk(mut self) -> Self {
        for (who, pass) in &self.house.callers {
            let mut caller = Caller { who: *who, pass, run: &mut self };
            caller.reads().await;
            caller.writes().await;
            caller.batches().await;
            caller.ends().await;
        }
        self
    }
}

/// One caller at work.
struct Caller<'r, 'a> {
    who: Who,
    pass: &'a Pass,
    run: &'r mut Run<'a>,
}

impl Caller<'_, '_> {
    /// The keys of its rows that there are, and of one that there is not.
    fn keys(&self) -> Vec<String> {
        let all = [MINE, CREATED, EDITED, FOREIGN].map(|kind| key(self.who, kind));
        let known = |key: &String| self.run.collection.rows.contains_key(key);
        all.into_iter().filter(known).chain(["none".to_owned()]).collect()
    }

    async fn send(&mut self, method: Method, rest: &str, body: Option<Value>) -> Answer {
        self.run.asked += 1;
        let rest = format!("collections/{}{rest}", name(self.run.collection.at));
        let House { world, place, .. } = self.run.house;
        let request = self.pass.ask(&world.server, place, method, &rest);
        Answer::of(match body {
            Some(body) => request.json(&body),
            None => request,
        })
        .await
    }

    /// What the model says, unless nothing at all works for this caller.
    fn model(&mut self, ask: impl FnOnce(&mut Collection, Who) -> Outcome) -> Outcome {
        match self.pass {
            Pass::Refused(code, _) => code,
            _ => ask(&mut self.run.collection, self.who),
        }
    }

    fn compare(&mut self, what: &str, said: &str, expected: &str) {
        if said != expected {
            let Collection { at, lists, .. } = &self.run.collection;
            let (who, name) = (self.who, name(*at));
            self.run.differences.push(format!(
                "{who:?} {what} in {name}: {said}, and not {expected}\n    {lists:?}"
            ));
        }
    }

    fn compare_list(&mut self, what: &str, answer: &Answer, expected: Listed) {
        let expected = match self.pass {
            Pass::Refused(code, _) => Err(*code),
            _ => expected,
        };
        let said = match answer.status {
            200 => {
                let body = answer.json();
                assert_eq!(body["next_cursor"], Value::Null, "one page is enough");
                let items = body["items"].as_array().expect("items").iter();
                let mut keys: Vec<_> =
                    items.map(|row| row["key"].as_str().expect("a key").to_owned()).collect();
                keys.sort();
                format!("{keys:?}")
            }
            _ => outcome(&answer.json(), answer.status),
        };
        let expected = match expected {
            Ok(keys) => format!("{keys:?}"),
            Err(code) => code.to_owned(),
        };
        self.compare(what, &said, &expected);
    }

    async fn reads(&mut self) {
        for key in self.keys() {
            let answer = self.send(Method::GET, &format!("/{key}"), None).await;
            let expected = self.model(|model, who| model.get(who, &key));
            self.compare(&format!("get {key}"), &said(&answer), expected);
        }
        self.gets_with_the_trash().await;
        let answer = self.send(Method::GET, "?limit=200", None).await;
        let expected = self.run.collection.list(self.who);
        self.compare_list("list", &answer, expected);
        let answer = self.send(Method::GET, "/count", None).await;
        let counted = match answer.status {
            200 => answer.json()["count"].to_string(),
            _ => said(&answer),
        };
        let expected = match (self.pass, self.run.collection.count(self.who)) {
            (Pass::Refused(code, _), _) => (*code).to_owned(),
            (_, Err(code)) => code.to_owned(),
            (_, Ok(count)) => count.to_string(),
        };
        self.compare("count", &counted, &expected);
    }

    async fn gets_with_the_trash(&mut self) {
        for key in self.keys() {
            let answer =
                self.send(Method::GET, &format!("/{key}?include_deleted=true"), None).await;
            let expected = self.model(|model, who| model.get_deleted(who, &key));
            self.compare(&format!("get {key}, deleted or not,"), &said(&answer), expected);
        }
    }

    async fn writes(&mut self) {
        let mut keys = self.keys();
        for key in &keys {
            let body = json!({"data": {"n": 1}});
            let answer = self.send(Method::PATCH, &format!("/{key}"), Some(body)).await;
            let expected = self.model(|model, who| model.update(who, key));
            self.compare(&format!("update {key}"), &said(&answer), expected);
        }
        // In the place of the absent one, whose key is everybody's.
        keys.pop();
        keys.push(key(self.who, "k"));
        for key in &keys {
            let body = json!({"key": key, "data": {"u": key}});
            let answer = self.send(Method::POST, "", Some(body)).await;
            let expected = self.model(|model, who| model.create(who, key));
            self.compare(&format!("keyed create {key}"), &said(&answer), expected);
        }
        for key in &keys {
            self.upsert(key, Some(key)).await;
        }
        let answer = self.send(Method::POST, "", Some(json!({"data": {}}))).await;
        let made = drawn(&answer);
        let expected = self.model(|model, who| model.create_anywhere(who, made.as_deref()));
        self.compare("create", &said(&answer), expected);
        let new = key(self.who, "new");
        self.upsert(&new, None).await;
    }

    /// An upsert on a value, which the row at `held` has.
    async fn upsert(&mut self, value: &str, held: Option<&str>) {
        let body = json!({"on": "u", "data": {"u": value}});
        let answer = self.send(Method::POST, "", Some(body)).await;
        let made = drawn(&answer);
        let expected = self.model(|model, who| model.upsert(who, held, made.as_deref()));
        self.compare(&format!("upsert {value}"), &said(&answer), expected);
    }

    async fn batches(&mut self) {
        let (mine, foreign) = (key(self.who, MINE), key(self.who, FOREIGN));
        let rows = json!([
            {"data": {}},
            {"key": foreign, "data": {"u": foreign}},
            {"on": "u", "data": {"u": mine}},
        ]);
        let answer = self.send(Method::POST, "/batch", Some(json!({"rows": rows}))).await;
        let results = results(&answer, 3);
        let made = |at: usize| results[at].1.as_deref();
        let expected = [
            self.model(|model, who| model.create_anywhere(who, made(0))),
            self.model(|model, who| model.create(who, &foreign)),
            self.model(|model, who| model.upsert(who, Some(&mine), made(2))),
        ];
        for (at, expected) in expected.into_iter().enumerate() {
            self.compare(&format!("batch [{at}]"), &results[at].0, expected);
        }
    }

    async fn ends(&mut self) {
        let mut keys = self.keys();
        keys.retain(|one| *one != key(self.who, FOREIGN));
        for key in &keys {
            let answer = self.send(Method::DELETE, &format!("/{key}"), None).await;
            let expected = self.model(|model, who| model.delete(who, key));
            self.compare(&format!("delete {key}"), &said(&answer), expected);
        }
        let foreign = key(self.who, FOREIGN);
        let body = json!({"keys": [foreign, "none"]});
        let answer = self.send(Method::DELETE, "/batch", Some(body)).await;
        let results = results(&answer, 2);
        for (at, key) in [&*foreign, "none"].into_iter().enumerate() {
            let expected = self.model(|model, who| model.delete(who, key));
            self.compare(&format!("batch delete {key}"), &results[at].0, expected);
        }
        let answer = self.send(Method::GET, "/deleted?limit=200", None).await;
        let expected = self.run.collection.deleted(self.who);
        self.compare_list("deleted", &answer, expected);
        self.gets_with_the_trash().await;
        // At the key of a row in the trash a create makes a fresh one; at a live one's it does not.
        let created = key(self.who, CREATED);
        let body = json!({"key": created, "data": {"u": created}});
        let answer = self.send(Method::POST, "", Some(body)).await;
        let expected = self.model(|model, who| model.create(who, &created));
        self.compare("create at a used key", &said(&answer), expected);
        for key in [&*key(self.who, MINE), &foreign, "none"] {
            let answer = self.send(Method::POST, &format!("/{key}/restore"), None).await;
            let expected = self.model(|model, who| model.restore(who, key));
            self.compare(&format!("restore {key}"), &said(&answer), expected);
        }
        for key in [&*key(self.who, EDITED), &created, "none"] {
            let answer = self.send(Method::DELETE, &format!("/{key}/purge"), None).await;
            let expected = self.model(|model, who| model.purge(who, key));
            self.compare(&format!("purge {key}"), &said(&answer), expected);
        }
    }
}

/// The key of the row in an answer.
fn drawn(answer: &Answer) -> Option<String> {
    answer.json()["key"].as_str().map(str::to_owned)
}

/// What an answer says in one word.
fn said(answer: &Answer) -> String {
    outcome(&answer.json(), answer.status)
}

fn outcome(body: &Value, status: u16) -> String {
    match body["error"]["code"].as_str() {
        Some(code) => code.to_owned(),
        None => status.to_string(),
    }
}

/// The result for each entry of a batch, with the key of its row; one refusal is everybody's.
fn results(answer: &Answer, entries: usize) -> Vec<(String, Option<String>)> {
    let body = answer.json();
    let Some(results) = body["results"].as_array() else {
        return vec![(said(answer), None); entries];
    };
    let one = |result: &Value| {
        let status = result["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let key = result["row"]["key"].as_str().map(str::to_owned);
        (outcome(result, status.unwrap_or_default()), key)
    };
    assert_eq!(results.len(), entries);
    results.iter().map(one).collect()
}
