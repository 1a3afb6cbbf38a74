//! The transfer of ownership: offers as the owner makes and withdraws them, what their addressee
//! does with them, and races.

mod accepted;
mod along;
mod left;
mod offers;
mod page;
mod races;
mod told;

use reqwest::Method;
use serde_json::{Value, json};

use super::orgs::Person;
use crate::harness::{Answer, TestServer, apps::HTML};

pub const GET: Method = Method::GET;
pub const POST: Method = Method::POST;
pub const PATCH: Method = Method::PATCH;
pub const DELETE: Method = Method::DELETE;
/// What is offered to a human.
pub const MINE: &str = "/v1/self/transfers";

impl TestServer {
    /// The path of a new app of `owner` with `rows` rows that are its owner's alone.
    pub async fn app_with_rows(&self, owner: &Person, rows: usize) -> String {
        let lists = json!({"read": ["owner"], "write": ["owner"], "delete": ["owner"],
            "countRead": ["owner"]});
        let rows: Vec<_> = (0..rows).map(|n| json!({"key": format!("r{n}"), "data": {}})).collect();
        let body = json!({
            "html": HTML,
            "manifest": {"collections": {"entries": {"permissions": lists}}},
            "input_data": {"entries": rows},
        });
        let record = self.tell(owner, POST, "/v1/apps", body).await.expect(201);
        format!("/v1/apps/{}", record["id"].as_str().expect("an id"))
    }

    /// Offers the app at `app`; the offer.
    pub async fn offer(&self, by: &Person, app: &str, to: &Person) -> Value {
        let body = json!({"email": to.human.email});
        self.ask(by, POST, &format!("{app}/transfer"), body).await.expect(201)
    }

    /// The answer to a decision (`accept`, `decline`) on an offer.
    pub async fn decide(&self, who: &Person, offer: &Value, decision: &str) -> Answer {
        let id = offer["id"].as_str().expect("an id");
        self.ask(who, POST, &format!("{MINE}/{id}/{decision}"), Value::Null).await
    }

    /// What is offered to `who`.
    pub async fn offered(&self, who: &Person) -> Vec<Value> {
        let page = self.ask(who, GET, MINE, Value::Null).await.expect(200);
        page["items"].as_array().expect("items").clone()
    }

    /// The owner of the app at `app`, as `who` sees it.
    pub async fn owner_of(&self, app: &str, who: &Person) -> Value {
        self.tell(who, GET, app, Value::Null).await.expect(200)["owner"]["id"].clone()
    }

    /// Ids of the apps in the list of `who`.
    pub async fn apps_of(&self, who: &Person) -> Vec<String> {
        let list = self.tell(who, GET, "/v1/apps?limit=200", Value::Null).await.expect(200);
        let items = list["items"].as_array().expect("items").iter();
        items.map(|app| app["id"].as_str().expect("an id").to_owned()).collect()
    }
}
