//! How a mail server is spoken to: TLS and passwords as the settings say, and never less.

use rookery::config::{self, Environment};

use super::{Post, USER, ask_for_link, sending_to};

#[tokio::test]
async fn mail_travels_over_tls_with_a_password_from_the_first_byte_or_after_starttls() {
    let Some(post) = Post::start().await else { return };
    for (url, to) in [
        (format!("smtps://{USER}{}", post.at("tls")), "first@example.org"),
        (format!("smtp://{USER}{}?tls=required", post.at("starttls")), "required@example.org"),
        (format!("smtp://{USER}{}?tls=opportunistic", post.at("starttls")), "offered@example.org"),
    ] {
        let server = sending_to(&url).set("ROOKERY__MAIL__CA_FILE", &post.ca_file()).start().await;
        ask_for_link(&server, to).await.expect(202);
        let mail = post.next(to).await;
        assert_eq!((&mail["secure"], &mail["user"]), (&true.into(), &"rookery".into()), "{url}");
        server.stop().await;
    }
    let url = format!("smtp://{}?tls=opportunistic", post.at("clear"));
    let server = sending_to(url).start().await;
    ask_for_link(&server, "clear@example.org").await.expect(202);
    assert_eq!(post.next("clear@example.org").await["secure"], false);
}

#[tokio::test]
async fn a_mail_server_that_is_not_trusted_gets_no_mail() {
    let Some(post) = Post::start().await else { return };
    let wrong_password = USER.replace("secret", "guess");
    let (ca, none) = (post.ca_file(), "");
    for (url, ca, to) in [
        // Its certificate comes from nobody that we know.
        (format!("smtps://{USER}{}", post.at("tls")), none, "a@example.org"),
        (format!("smtp://{USER}{}?tls=required", post.at("starttls")), none, "b@example.org"),
        (format!("smtp://{USER}{}?tls=opportunistic", post.at("starttls")), none, "c@example.org"),
        // It offers no TLS, or does not know us.
        (format!("smtp://{}?tls=required", post.at("clear")), ca.as_str(), "d@example.org"),
        (format!("smtps://{wrong_password}{}", post.at("tls")), ca.as_str(), "e@example.org"),
    ] {
        let server = sending_to(&url).set("ROOKERY__MAIL__CA_FILE", ca).start().await;
        ask_for_link(&server, to).await.expect(202);
        // What waits gets one more try before the end.
        server.stop().await;
        assert_eq!(post.count(to).await, 0, "{url}");
    }
}

#[test]
fn a_wrong_address_of_a_mail_server_stops_the_start() {
    let line = |url: &str| {
        let settings = [("SMTP_URL".to_owned(), url.to_owned())];
        let environment: Environment = settings.into_iter().collect();
        config::load(None, &environment).err().map(|error| error.to_string())
    };
    for good in [
        "smtp://mail.example.org",
        "smtp://mail.example.org:2525/name.example.org",
        "smtp://user:password@localhost:2525",
        "smtp://user:password@127.0.0.1:2525",
        "smtp://user:password@[::1]:2525",
        "smtp://user:password@mail.example.org?tls=required",
        "smtp://user:password@mail.example.org?tls=opportunistic",
        "smtp://user:password@mail.example.org?tls=none",
        "smtps://user:password@mail.example.org",
    ] {
        assert_eq!(line(good), None, "{good}");
    }
    for (bad, said) in [
        ("mail.example.org", "must be an address"),
        ("smtp://", "must be an address"),
        ("https://mail.example.org", "must begin with smtp:// or smtps://"),
        ("smtp://user:canary@mail.example.org", "a password needs TLS"),
        ("smtp://user:canary@127.0.0.1.example.org", "a password needs TLS"),
        ("smtp://mail.example.org?tls=maybe", "required, opportunistic or none"),
        ("smtp://mail.example.org?TLS=required", "the parameter tls and no other"),
        ("smtp://mail.example.org?tls=required&tls=none", "the parameter tls and no other"),
        ("smtps://mail.example.org?tls=none", "takes no parameter"),
        ("smtp://mail.example.org:0", "port 0"),
        ("smtp://mail.example.org/path", "has no path"),
        ("smtp://mail.example.org/rookery.example.org/x", "has no path"),
        ("smtp://mail.example.org/canary%20.org", "has no path"),
        ("smtp://u:canary%zz@mail.example.org?tls=required", "a % in one is %25"),
        ("smtps://u:canary%@mail.example.org", "a % in one is %25"),
        ("smtps://u%4:canary@mail.example.org", "a % in one is %25"),
        ("smtps://u:canary%FF@mail.example.org", "no UTF-8"),
    ] {
        let line = line(bad).expect(bad);
        assert!(line.starts_with("mail.smtp_url: ") && line.contains(said), "{bad}: {line}");
        assert!(!line.contains("canary"), "{line}");
    }
}

#[tokio::test]
async fn authorities_that_cannot_be_read_stop_the_start() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "no certificate").expect("a file");
    for (file, said) in [
        (empty, "mail.ca_file: holds no certificate in PEM"),
        (folder.path().join("absent.pem"), "mail.ca_file: cannot be read"),
    ] {
        for url in ["smtps://mail.example.org", "smtp://mail.example.org", ""] {
            let mut config = sending_to(url).config();
            config.mail.ca_file = file.to_str().expect("a path").to_owned();
            config.data_dir = folder.path().join("data");
            let error = rookery::start(config, rookery::Hooks::default()).await.err();
            assert_eq!(error.expect("it does not start").to_string(), said, "{url}");
        }
    }
}
