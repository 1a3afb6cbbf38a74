//! What pushes say. The message has the form of Declarative Web Push (W3C Push API, "declarative
//! push messages"): browsers that know it show it by themselves, a service worker of the site
//! shows it in the others.

use serde_json::json;

use crate::mail::organization;

/// Something to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PushMessage {
    title: String,
    body: String,
    /// The path on the site that a click leads to.
    path: String,
    /// A later message with the same tag replaces this one.
    tag: String,
}

impl PushMessage {
    /// `by` has added the human to the app called `app`.
    #[must_use]
    pub fn shared(app: &str, by: &str) -> Self {
        Self {
            title: format!("You were added to the app {app}"),
            body: format!("{by} shares it with you."),
            path: format!("/authorize?app={app}"),
            tag: format!("shared {app}"),
        }
    }

    /// `by` offers the human the app called `app`.
    #[must_use]
    pub fn offered(app: &str, by: &str) -> Self {
        Self {
            title: format!("The app {app} is offered to you"),
            body: format!("{by} wants you to own it. Nothing changes before you accept."),
            path: "/transfers".to_owned(),
            tag: format!("offered {app}"),
        }
    }

    /// The human was added to the organization called `org`.
    #[must_use]
    pub fn joined(org: &str) -> Self {
        Self {
            title: format!("You were added to {}", organization(org)),
            body: "You are a member of it now.".to_owned(),
            path: "/".to_owned(),
            tag: format!("joined {org}"),
        }
    }

    /// The message for a site at `site`. It has a few hundred bytes; push services take 3,993 at
    /// least (RFC 8291, section 4).
    #[must_use]
    pub fn to_json(&self, site: &str) -> Vec<u8> {
        let Self { title, body, path, tag } = self;
        let notification = json!({
            "title": title, "body": body, "lang": "en", "dir": "auto", "tag": tag,
            "navigate": format!("{site}{path}"),
        });
        json!({"web_push": 8030, "notification": notification}).to_string().into_bytes()
    }
}
