//! What a mail holds: both bodies, its headers, and nothing that a stranger slipped in.

use reqwest::Method;
use rookery_domain::ErrorCode;
use serde_json::{Value, json};

use super::{Post, ask_for_link, token_of};
use crate::harness::Answer;

/// The values of a header.
fn all<'a>(mail: &'a Value, name: &str) -> Vec<&'a str> {
    let headers = mail["headers"].as_array().expect("headers").iter();
    let named = headers.filter(|header| header[0] == name);
    named.map(|header| header[1].as_str().expect("text")).collect()
}

fn one<'a>(mail: &'a Value, name: &str) -> &'a str {
    let values = all(mail, name);
    assert_eq!(values.len(), 1, "{name} in {mail}");
    values[0]
}

#[tokio::test]
async fn a_sign_in_mail_has_both_bodies_and_says_who_sent_it_when() {
    let Some(post) = Post::start().await else { return };
    let server = post.server().start().await;
    assert_eq!(server.get("/v1/auth/status").await.expect(200)["magic_link"], true);
    // Mail that leaves is nobody's to read here.
    server.get("/dev/mailbox").await.error(ErrorCode::NotFound);
    let mut ids = Vec::new();
    for _ in 0..2 {
        ask_for_link(&server, "Ada@Example.org").await.expect(202);
        let mail = post.next("ada@example.org").await;
        let sender = "nest@mail.example.org";
        let to = json!(["ada@example.org"]);
        assert_eq!(mail["envelope"], json!({"from": sender, "to": to}));
        assert_eq!(mail["from"]["address"], sender);
        assert_eq!(mail["from"]["name"], "Krähen");
        assert_eq!(mail["to"].as_array().map(Vec::len), Some(1));
        assert_eq!(mail["to"][0]["address"], "ada@example.org");
        assert_eq!(mail["subject"], "Your sign-in link");
        let text = mail["text"].as_str().expect("a text");
        let link = format!("{}/sign-in/confirm?token={}", server.public_url(), token_of(text));
        assert!(text.lines().any(|line| line == link), "{text}");
        let html = mail["html"].as_str().expect("HTML");
        assert!(html.contains(&format!("href=\"{link}\"")), "{html}");
        assert!(text.contains("15 minutes") && html.contains("15 minutes"));

        assert_eq!(one(&mail, "date"), "Sat, 31 Jan 2026 12:00:00 +0000");
        assert_eq!(one(&mail, "auto-submitted"), "auto-generated");
        assert_eq!(one(&mail, "mime-version"), "1.0");
        assert!(one(&mail, "content-type").starts_with("multipart/alternative;"));
        for name in ["bcc", "cc", "reply-to", "sender"] {
            assert!(all(&mail, name).is_empty(), "{mail}");
        }
        let id = one(&mail, "message-id");
        assert!(id.starts_with('<') && id.ends_with("@mail.example.org>"), "{id}");
        ids.push(id.to_owned());
        assert_eq!(mail["greeted"], "localhost");
    }
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn an_invitation_and_an_offer_tell_who_and_what_in_both_bodies() {
    let Some(post) = Post::start().await else { return };
    let server = post.server().start().await;
    let ada = post.sign_in(&server, "ada@example.org").await;
    let name = "Ada <b>& \"Co\"";
    let named = server.by(&ada, Method::PATCH, "/v1/self/profile").json(&json!({"name": name}));
    Answer::of(named).await.expect(200);
    let agent = server.agent(&ada).await;
    let app = server.post("/v1/apps", &agent.key, r#"{"html": "<p>hi", "slug": "the-choir"}"#);
    let app = app.await.expect(201);
    let path = format!("/v1/apps/{}", app["id"].as_str().unwrap());
    for (below, to, subject, link) in [
        ("members", "bob@example.org", "You were added to the app the-choir", "/authorize?app="),
        ("transfer", "carol@example.org", "The app the-choir is offered to you", "/transfers"),
    ] {
        let body = json!({"email": to}).to_string();
        server.post(&format!("{path}/{below}"), &agent.key, &body).await.expect(201);
        let mail = post.next(to).await;
        assert_eq!(mail["envelope"]["to"], json!([to]));
        assert_eq!(mail["subject"], subject);
        let (text, html) = (mail["text"].as_str().unwrap(), mail["html"].as_str().unwrap());
        assert!(text.contains(name) && text.contains(to), "{text}");
        assert!(text.contains(&format!("{}{link}", server.public_url())), "{text}");
        assert!(html.contains("Ada &#60;b&#62;&#38; &#34;Co&#34;"), "{html}");
        assert!(!html.contains("<b>"), "{html}");
    }
}

#[tokio::test]
async fn nobody_slips_a_header_or_another_recipient_into_a_mail() {
    let Some(post) = Post::start().await else { return };
    let server = post.server().start().await;
    for bad in [
        "ada@example.org\r\nBcc: victim@example.org",
        "ada@example.org\nBcc: victim@example.org",
        "ada\r\nBcc: victim@example.org",
        "ada@example.org\u{0}",
        "ada@example.org, victim@example.org",
        "ada@example.org;victim@example.org",
        "ada@example.org>,<victim@example.org",
        "\"ada\r\n\"@example.org",
        "ada@example.org%0d%0aBcc:victim@example.org",
        "@relay.example,@other.example:victim@example.org",
        "ada@example.org\u{2028}Bcc: victim@example.org",
        "ada@exam\u{ad}ple.org\r\n.\r\n",
    ] {
        ask_for_link(&server, bad).await.error(ErrorCode::InvalidRequest);
    }
    // A name is one line, so it ends no header and no body.
    let ada = post.sign_in(&server, "ada@example.org").await;
    for bad in ["Ada\r\nBcc: victim@example.org", "Ada\n.\nMAIL FROM:<x@example.org>", "A\u{85}B"] {
        let request = server.by(&ada, Method::PATCH, "/v1/self/profile");
        Answer::of(request.json(&json!({"name": bad}))).await.error(ErrorCode::InvalidRequest);
    }
    // What looks like one stays where it stands.
    let named = json!({"name": "Bcc: victim, localhost"});
    let request = server.by(&ada, Method::PATCH, "/v1/self/profile").json(&named);
    Answer::of(request).await.expect(200);
    let agent = server.agent(&ada).await;
    let app = server.post("/v1/apps", &agent.key, r#"{"html": "<p>hi"}"#).await.expect(201);
    let path = format!("/v1/apps/{}/members", app["id"].as_str().unwrap());
    server.post(&path, &agent.key, r#"{"email": "bob@example.org"}"#).await.expect(201);
    let mail = post.next("bob@example.org").await;
    assert_eq!(mail["envelope"]["to"], json!(["bob@example.org"]));
    assert!(all(&mail, "bcc").is_empty(), "{mail}");
    assert!(mail["text"].as_str().unwrap().starts_with("Bcc: victim, localhost (ada@"), "{mail}");
    assert_eq!(post.count("victim@localhost").await, 0);
}

#[tokio::test]
async fn a_name_that_could_become_a_link_is_not_in_a_letter() {
    let Some(post) = Post::start().await else { return };
    let server = post.server().start().await;
    let ada = post.sign_in(&server, "ada@example.org").await;
    let agent = server.agent(&ada).await;
    let names = [
        ("Win at evil.example", false),
        ("https://evil", false),
        ("WWW. evil", false),
        ("ann@elsewhere", false),
        ("Ada L. (the first)", true),
    ];
    for (n, (name, stays)) in names.into_iter().enumerate() {
        let patch = server.by(&ada, Method::PATCH, "/v1/self/profile");
        Answer::of(patch.json(&json!({"name": name}))).await.expect(200);
        let app = server.post("/v1/apps", &agent.key, r#"{"html": "<p>hi"}"#).await.expect(201);
        let path = format!("/v1/apps/{}", app["id"].as_str().expect("an id"));
        for (below, to) in
            [("members", format!("m{n}@example.org")), ("transfer", format!("t{n}@example.org"))]
        {
            let body = json!({"email": to}).to_string();
            server.post(&format!("{path}/{below}"), &agent.key, &body).await.expect(201);
            let mail = post.next(&to).await;
            for part in ["text", "html"] {
                let said = mail[part].as_str().expect("a body");
                assert_eq!(said.contains(name), stays, "{said}");
                // The proven address stands there in any case.
                assert!(said.contains("ada@example.org"), "{said}");
            }
        }
    }
}
