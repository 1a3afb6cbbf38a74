//! Who is mailed when an organization changes around them: whoever is put into it or billed for it, and
//! its admins when apps of it are closed.

use reqwest::Method;
use serde_json::{Value, json};

use super::{Person, id_of};
use crate::harness::TestServer;

/// The mails to `who` that are about organizations, newest first: subject and text.
async fn told(server: &TestServer, who: &Person) -> Vec<(String, String)> {
    let mails = server.mails(&who.human.email).await;
    let part = |mail: &Value, name: &str| mail[name].as_str().expect("text").to_owned();
    let mails = mails.iter().map(|mail| (part(mail, "subject"), part(mail, "text")));
    mails.filter(|(_, text)| text.contains("/orgs/org_")).collect()
}

#[tokio::test]
async fn whoever_is_put_into_an_organization_is_mailed_who_did_it() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let cyd = server.person("cyd").await;
    let org = server.org(&ada).await;
    server.join(&org, &ada, &bob, "admin").await;
    server.join(&org, &ada, &cyd, "member").await;
    let page = format!("{}/orgs/{}", server.public_url(), id_of(&org));
    for (who, may) in [(&bob, "As an admin of it you act"), (&cyd, "You are a member of it")] {
        let mails = told(&server, who).await;
        assert_eq!(mails.len(), 1, "{mails:?}");
        let (subject, text) = &mails[0];
        assert_eq!(subject, "You were added to the organization Rooks");
        for part in ["ada@example.org has added you", may, &page, &who.human.email] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
    }
    assert_eq!(told(&server, &ada).await, []);
    // What was refused is no news, nor is another role.
    let again = json!({"email": bob.human.email});
    server.ask(&ada, Method::POST, &format!("{org}/members"), again).await;
    server.set_role(&org, &ada, &bob, "member").await.expect(200);
    assert_eq!(told(&server, &bob).await.len(), 1);
    // A name that a mail program would make a link of is a stranger's link.
    for (who, name) in [("dan", "Paid: https://evil.example/now"), ("eve", "evil\u{3002}example")] {
        server.ask(&ada, Method::PATCH, &org, json!({"name": name})).await.expect(200);
        let who = server.person(who).await;
        server.join(&org, &ada, &who, "member").await;
        let (subject, text) = told(&server, &who).await.swap_remove(0);
        assert_eq!(subject, "You were added to an organization");
        assert!(!text.contains("evil"), "{text}");
    }
}

#[tokio::test]
async fn whoever_is_billed_since_another_one_left_is_mailed() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let cyd = server.person("cyd").await;
    let (org, other) = (server.org(&ada).await, server.org(&ada).await);
    for org in [&org, &other] {
        server.join(org, &ada, &bob, "admin").await;
        server.join(org, &ada, &cyd, "admin").await;
    }
    let remove = async |org: &str, by: &Person, who: &Person| {
        let path = format!("{org}/members/{}", who.id);
        server.ask(by, Method::DELETE, &path, Value::Null).await
    };
    let is_billed = |mails: &[(String, String)], org: &str| {
        let (subject, text) = &mails[0];
        assert_eq!(subject, "You are billed for the organization Rooks");
        assert!(text.contains(&format!("/orgs/{}", id_of(org))), "{text}");
    };
    // Removed by the one who stays, and again, which changes nothing.
    for _ in 0..2 {
        assert_eq!(remove(&org, &cyd, &ada).await.status, 204);
    }
    let mails = told(&server, &bob).await;
    assert_eq!(mails.len(), 3, "{mails:?}");
    is_billed(&mails, &org);
    assert_eq!(server.close(&ada).await.status, 204);
    let mails = told(&server, &bob).await;
    assert_eq!(mails.len(), 4, "{mails:?}");
    is_billed(&mails, &other);
    assert!(!mails[0].1.contains("ada"), "who has deleted the account is forgotten: {mails:?}");
    // Nobody is billed anew where somebody else leaves.
    assert_eq!(remove(&org, &bob, &cyd).await.status, 204);
    assert_eq!((told(&server, &bob).await.len(), told(&server, &cyd).await.len()), (4, 2));
}

#[tokio::test]
async fn admins_are_mailed_which_apps_go_with_an_account() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let (cyd, eve) = (server.person("cyd").await, server.person("eve").await);
    let (org, other) = (server.org(&ada).await, server.org(&bob).await);
    server.join(&org, &ada, &bob, "admin").await;
    server.join(&org, &ada, &cyd, "member").await;
    server.join(&other, &bob, &eve, "admin").await;
    let mut slugs = Vec::new();
    for _ in 0..2 {
        let app = server.app_with_rows(&ada, 0).await;
        let moved = json!({"org_id": id_of(&org)});
        let record = server.ask(&ada, Method::PATCH, &app, moved).await.expect(200);
        slugs.push(record["slug"].as_str().expect("a slug").to_owned());
    }
    let own = server.app_with_rows(&ada, 0).await;
    let own = server.ask(&ada, Method::GET, &own, Value::Null).await.expect(200);
    let own = own["slug"].as_str().expect("a slug").to_owned();
    let before = told(&server, &bob).await.len();
    assert_eq!(server.close(&ada).await.status, 204);
    let mails = told(&server, &bob).await;
    assert_eq!(mails.len(), before + 2, "the bill, and the apps in one: {mails:?}");
    let (subject, text) = &mails[0];
    assert_eq!(subject, "Apps of the organization Rooks are closed");
    for part in slugs.iter().map(String::as_str).chain(["destroys them", "save what you need"]) {
        assert!(text.contains(part), "{part:?} in {text}");
    }
    assert!(!text.contains(&own), "{text}");
    assert_eq!(told(&server, &cyd).await.len(), 1, "a plain member does not act for its apps");
    assert_eq!(told(&server, &eve).await.len(), 1, "nor does another organization's admin");
    // An account whose apps are in no organization closes without a word.
    let eves = told(&server, &eve).await.len();
    let dan = server.person("dan").await;
    server.app_with_rows(&dan, 0).await;
    assert_eq!(server.close(&dan).await.status, 204);
    assert_eq!(told(&server, &eve).await.len(), eves);
}
