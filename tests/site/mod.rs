//! The site for humans, through HTTP as a browser without scripts sees it. What needs a browser is
//! in `browser`.

mod agents;
mod assets;
mod first_run;
mod home;
mod sign_in;

use reqwest::{Method, RequestBuilder};

use crate::harness::{Answer, Human, TestServer};

pub const GET: Method = Method::GET;
pub const POST: Method = Method::POST;

impl TestServer {
    /// A page as a signed-in human sees it.
    pub async fn see(&self, human: &Human, path: &str) -> Answer {
        Answer::of(self.by(human, GET, path).header("accept", "text/html")).await
    }

    /// A form of a page, sent by its human.
    pub fn form(&self, human: &Human, path: &str, fields: &[(&str, &str)]) -> RequestBuilder {
        self.by(human, POST, path).form(fields)
    }

    /// The answer to it.
    pub async fn submit(&self, human: &Human, path: &str, fields: &[(&str, &str)]) -> Answer {
        Answer::of(self.form(human, path, fields)).await
    }
}

impl Answer {
    /// Where a form led to.
    #[track_caller]
    pub fn led_to(&self) -> &str {
        assert_eq!(self.status, 303, "{}", self.text);
        self.header("location")
    }

    /// Checks that the page says this.
    #[track_caller]
    pub fn says(&self, text: &str) -> &Self {
        assert!(self.text.contains(text), "{text:?} is not on the page:\n{}", self.text);
        self
    }

    /// Checks that it does not.
    #[track_caller]
    pub fn hides(&self, text: &str) -> &Self {
        assert!(!self.text.contains(text), "{text:?} is on the page:\n{}", self.text);
        self
    }

    /// What stands between two texts of the page, the first time.
    #[track_caller]
    pub fn between(&self, before: &str, after: &str) -> String {
        let rest = self.text.split_once(before).unwrap_or_else(|| panic!("no {before:?}")).1;
        rest.split_once(after).unwrap_or_else(|| panic!("no {after:?}")).0.to_owned()
    }
}
