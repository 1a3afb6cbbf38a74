//! Who is mailed when others act: an app's owner, and whoever offered the app.

use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::{DELETE, PATCH, POST};
use crate::{
    harness::TestServer,
    routes::orgs::{Person, id_of},
};

/// The subject of the newest mail to `who`, and its text.
async fn newest(server: &TestServer, who: &Person) -> (String, String) {
    let mails = server.mails(&who.human.email).await;
    let part = |name: &str| mails[0][name].as_str().expect("text").to_owned();
    (part("subject"), part("text"))
}

/// An app of `ada` in an organization that `bob` administers too.
async fn shared(server: &TestServer, ada: &Person, bob: &Person) -> (String, String, String) {
    let org = server.org(ada).await;
    server.join(&org, ada, bob, "admin").await;
    let app = server.app_with_rows(ada, 0).await;
    let moved = json!({"org_id": id_of(&org)});
    let record = server.ask(ada, PATCH, &app, moved).await.expect(200);
    (org, app, record["slug"].as_str().expect("a slug").to_owned())
}

#[tokio::test]
async fn the_owner_is_mailed_when_another_admin_offers_the_app_and_when_it_is_taken() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let carol = server.person("carol").await;
    let (_, app, slug) = shared(&server, &ada, &bob).await;
    let before = server.mails(&ada.human.email).await.len();
    // What the owner does itself is no news.
    let own = server.offer(&ada, &app, &carol).await;
    assert_eq!(server.mails(&ada.human.email).await.len(), before);
    assert_eq!(server.decide(&carol, &own, "decline").await.status, 204);
    let (subject, text) = newest(&server, &ada).await;
    assert_eq!(subject, format!("The app {slug} was declined"));
    assert!(text.contains("carol@example.org has declined"), "{text}");

    let offer = server.offer(&bob, &app, &carol).await;
    let (subject, text) = newest(&server, &ada).await;
    assert_eq!(subject, format!("The app {slug} is offered to somebody"));
    assert!(text.contains("bob@example.org offers the app"), "{text}");
    assert!(text.contains("to carol@example.org"), "{text}");
    let bobs = server.mails(&bob.human.email).await.len();
    server.decide(&carol, &offer, "accept").await.expect(200);
    for who in [&ada, &bob] {
        let (subject, text) = newest(&server, who).await;
        assert_eq!(subject, format!("The app {slug} has another owner"));
        assert!(text.contains("carol@example.org has accepted"), "{text}");
    }
    assert_eq!(server.mails(&bob.human.email).await.len(), bobs + 1);
}

#[tokio::test]
async fn the_owner_is_mailed_when_somebody_else_moves_or_deletes_the_app() {
    let server = TestServer::start().await;
    let (ada, bob) = (server.person("ada").await, server.person("bob").await);
    let (org, app, slug) = shared(&server, &ada, &bob).await;
    let other = server.org(&bob).await;
    let before = server.mails(&ada.human.email).await.len();
    let to_other = json!({"org_id": id_of(&other)});
    server.ask(&bob, PATCH, &app, json!({"timezone": "Asia/Tokyo"})).await.expect(200);
    assert_eq!(server.mails(&ada.human.email).await.len(), before, "no matter of a mail");
    server.tell(&bob, PATCH, &app, to_other.clone()).await.expect(200);
    let (subject, text) = newest(&server, &ada).await;
    assert_eq!(subject, format!("The app {slug} is in another organization"));
    assert!(text.contains("bob@example.org has moved the app"), "{text}");
    assert!(text.contains("the organization Rooks"), "{text}");
    // A name that a mail program would make a link of is a stranger's link.
    let name = json!({"name": "Paid: https://evil.example/now"});
    server.ask(&bob, PATCH, &other, name).await.expect(200);
    server.tell(&bob, PATCH, &app, json!({"org_id": id_of(&org)})).await.expect(200);
    server.tell(&bob, PATCH, &app, to_other.clone()).await.expect(200);
    let (_, text) = newest(&server, &ada).await;
    assert!(text.contains("to an organization, whose admins"), "{text}");
    assert!(!text.contains("evil.example"), "{text}");
    let before = server.mails(&ada.human.email).await.len() - 1;
    server.ask(&bob, PATCH, &app, to_other).await.expect(200);
    assert_eq!(server.mails(&ada.human.email).await.len(), before + 1, "nothing has changed");

    for _ in 0..2 {
        assert_eq!(server.ask(&bob, DELETE, &app, Value::Null).await.status, 204);
    }
    let (subject, _) = newest(&server, &ada).await;
    assert_eq!(subject, format!("The app {slug} was moved to the trash"));
    assert_eq!(server.mails(&ada.human.email).await.len(), before + 2);
    server.tell(&ada, POST, &format!("{app}/restore"), json!({})).await.expect(200);
    assert_eq!(server.tell(&ada, DELETE, &app, Value::Null).await.status, 204);
    assert_eq!(server.mails(&ada.human.email).await.len(), before + 2, "its own doing");
    assert!(org != other);

    // What is destroyed is told too, once.
    let purge = format!("{app}/purge");
    assert_eq!(server.ask(&bob, POST, &purge, Value::Null).await.status, 204);
    let (subject, text) = newest(&server, &ada).await;
    assert_eq!(subject, format!("The app {slug} was destroyed"));
    assert!(text.contains("bob@example.org has destroyed the app"), "{text}");
    server.ask(&bob, POST, &purge, Value::Null).await.error(ErrorCode::AppNotFound);
    assert_eq!(server.mails(&ada.human.email).await.len(), before + 3);
}
