//! Mail as a mail server gets it: programs of `tests/services` behind a real SMTP dialogue. What
//! leads to a mail is in the modules of each route.

mod failures;
mod letters;
mod relays;

use std::fmt::Display;

use reqwest::Method;
use rookery_domain::email::Email;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{Answer, Builder, Human, TestServer, encoded, services::Service};

/// What the mail servers want to hear.
const USER: &str = "rookery:a%20secret%3A%20of%2Fthe%20tests@";

/// Mail servers, and what can be asked of them.
struct Post {
    service: Service,
    servers: Value,
    folder: TempDir,
}

impl Post {
    /// Starts them; `None`, when there is no node.
    async fn start() -> Option<Self> {
        rookery::outbound::install_tls();
        let service = Service::start("tests/mail/mod.rs", "smtp.mjs", &[]).await?;
        let servers = ask(&service, "/servers").await;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let certificate = servers["certificate"].as_str().expect("a certificate");
        std::fs::write(folder.path().join("ca.pem"), certificate).expect("a file");
        Some(Self { service, servers, folder })
    }

    /// The address of the mail server called `name`.
    fn at(&self, name: &str) -> &str {
        self.servers[name].as_str().expect("an address")
    }

    /// The file with the certificate of those that speak TLS.
    fn ca_file(&self) -> String {
        self.folder.path().join("ca.pem").to_str().expect("a path").to_owned()
    }

    /// A server that sends its mail in the clear.
    fn server(&self) -> Builder {
        sending_to(format!("smtp://{}", self.at("clear")))
    }

    /// The next mail to an address.
    async fn next(&self, to: &str) -> Value {
        ask(&self.service, &format!("/next?to={}", encoded(to))).await
    }

    /// How often an address was asked to take one.
    async fn tries(&self, to: &str) -> Value {
        ask(&self.service, &format!("/tries?to={}", encoded(to))).await
    }

    /// How many mails came to an address.
    async fn count(&self, to: &str) -> Value {
        ask(&self.service, &format!("/count?to={}", encoded(to))).await
    }

    /// Signs a human in by the mailed link.
    async fn sign_in(&self, server: &TestServer, email: &str) -> Human {
        ask_for_link(server, email).await.expect(202);
        let mail = self.next(email).await;
        let token = token_of(mail["text"].as_str().expect("a text"));
        let answer = server.get(&format!("/v1/auth/verify?token={token}")).await;
        assert_eq!(answer.status, 303, "{}", answer.text);
        Human { email: email.to_owned(), cookie: answer.cookie() }
    }
}

async fn ask(service: &Service, path: &str) -> Value {
    let answer = reqwest::get(format!("{}{path}", service.address)).await.expect("an answer");
    answer.json().await.expect("JSON")
}

/// A server whose mail goes to `url`.
fn sending_to(url: impl Display) -> Builder {
    TestServer::builder()
        .set("SMTP_URL", &url.to_string())
        .set("ROOKERY__MAIL__FROM", "Krähen <nest@mail.example.org>")
}

async fn ask_for_link(server: &TestServer, email: &str) -> Answer {
    let request = server.request(Method::POST, "/v1/auth/request-link");
    Answer::of(request.json(&json!({"email": email}))).await
}

/// Signs a human in whose mail does not arrive.
async fn sign_in_without_mail(server: &TestServer, email: &str) -> Human {
    let address = Email::parse(email).expect("an address");
    let token = server.state().rooms.directory.request_link(&address, None).await.expect("a link");
    let answer = server.get(&format!("/v1/auth/verify?token={}", token.expose())).await;
    assert_eq!(answer.status, 303, "{}", answer.text);
    Human { email: email.to_owned(), cookie: answer.cookie() }
}

/// The token of the link in a mail's text.
fn token_of(text: &str) -> &str {
    let (_, rest) = text.split_once("/sign-in/confirm?token=").expect("a link");
    rest.split_whitespace().next().expect("a token")
}
