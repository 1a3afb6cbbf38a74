//! A fresh server leads a human from nothing to a claimed agent and a running app.

use futures::future::join_all;

use super::{GET, POST};
use crate::harness::{Answer, TestServer, encoded};

#[tokio::test]
async fn a_fresh_server_leads_from_nothing_to_a_running_app() {
    let server = TestServer::start().await;
    let email = "ada@example.org";
    let welcome = server.get("/").await;
    assert_eq!(welcome.status, 200);
    welcome.says("action=\"/sign-in\"").says("/dev/mailbox").hides("<script");

    // The form of the welcome page, the mailbox, the confirmation: as the links lead.
    let fields = [("email", email), ("redirect_to", "/")];
    let sent = Answer::of(server.request(POST, "/sign-in").form(&fields)).await;
    server.get(sent.led_to()).await.says("/dev/mailbox");
    let mailbox = server.request(GET, &format!("/dev/mailbox?to={}", encoded(email)));
    let mailbox = Answer::of(mailbox.header("accept", "text/html")).await;
    let confirm = format!("href=\"{}/sign-in/confirm?token=", server.public_url());
    let token = mailbox.between(&confirm, "\"");
    let entered = server.get(&format!("/v1/auth/verify?token={token}")).await;
    assert_eq!(entered.led_to(), "/");
    let cookie = entered.cookie();
    let ada = crate::harness::Human { email: email.to_owned(), cookie };

    let home = server.see(&ada, "/").await;
    home.says("From nothing to a running app")
        .says("Deploy an example app")
        .says("data-hx-get=\"/first-run/steps?agent=false\"");
    let made = server.submit(&ada, "/first-run", &[]).await;
    assert_eq!(made.status, 200, "{}", made.text);
    // The key is shown this once, so nothing on the page leads away from it.
    made.says("target=\"_blank\" rel=\"noopener\"><button class=\"button\" type=\"submit\" name=\"action\" value=\"open\">Open it");
    let key = made.between("id=\"agent-key\">", "<");
    let url = made.between("<a href=\"http://", "/\"");
    let (host, _) = url.split_once(':').expect("an app's origin");
    let app = Answer::of(server.request(GET, "/").header("host", format!("{host}:1"))).await;
    assert_eq!(app.status, 200);
    app.says("<title>Guestbook</title>");

    // The agent is the human's and its key works; sent again nothing is made twice.
    let apps = Answer::of(server.call(GET, "/v1/apps", &key)).await.expect(200);
    assert_eq!(apps["items"].as_array().map(Vec::len), Some(1));
    let again = server.submit(&ada, "/first-run", &[]).await;
    assert_eq!(again.led_to(), "/?done=first-agent-there#notice");
    server.see(&ada, "/").await.hides("From nothing");
    server.see(&ada, "/agents").await.says("First agent");
}

#[tokio::test]
async fn the_steps_follow_an_agent_that_comes_by_itself() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let steps = |answer: &Answer| answer.text.matches("class=\"done\"").count();
    let look = || async { server.part(&ada, "/first-run/steps", "/").await };
    assert_eq!(steps(&look().await), 1);
    let asked = async |agent| {
        let path = format!("/first-run/steps?agent={agent}");
        server.part(&ada, &path, "/").await
    };
    let unchanged = asked(false).await;
    assert_eq!((unchanged.status, unchanged.text.as_str()), (204, ""), "nothing is replaced");
    let agent = server.agent(&ada).await;
    assert_eq!(steps(&look().await), 2);
    assert_eq!(steps(&asked(false).await), 2);
    assert_eq!(asked(true).await.status, 204);
    let app = server.deploy(&agent.key, serde_json::json!({})).await;
    let done = look().await;
    assert_eq!(steps(&done), 3);
    done.says(&app.slug).hides("data-hx-get");
}

#[tokio::test]
async fn the_key_is_shown_where_no_app_can_be_deployed() {
    let server = TestServer::builder().set("MAX_APPS_PER_ACCOUNT", "0").start().await;
    let ada = server.human("ada@example.org").await;
    let made = server.submit(&ada, "/first-run", &[]).await;
    assert_eq!(made.status, 409, "{}", made.text);
    made.says("role=\"alert\"").says("<h1>Your first agent is there</h1>").hides("is running");
    let key = made.between("id=\"agent-key\">", "<");
    let apps = Answer::of(server.call(GET, "/v1/apps", &key)).await.expect(200);
    assert_eq!(apps["items"], serde_json::json!([]));
}

#[tokio::test]
async fn a_server_without_registration_says_so() {
    let server = TestServer::builder().set("REGISTRATION_MODE", "closed").start().await;
    let ada = server.human("ada@example.org").await;
    server.get("/").await.says("Your agent shows you a code").hides("One button");
    let home = server.see(&ada, "/").await;
    home.says("From nothing to a running app").says("Bring your own agent");
    home.hides("Deploy an example app").hides("claim code");
    let agents = server.see(&ada, "/agents").await;
    agents.says("Connect your first one below: by the code that it shows you.");
    agents.says("/v1/device/code").says("This server takes no registrations now.");
    // Sent all the same, as by a page of before, and sent again: nothing was begun.
    for _ in 0..2 {
        let refused = server.submit(&ada, "/first-run", &[]).await;
        assert_eq!(refused.status, 403);
        refused.says("role=\"alert\"").says("From nothing to a running app");
    }
}

#[tokio::test]
async fn the_shortest_way_begins_with_what_the_server_takes() {
    let open = TestServer::start().await.get("/llms.txt").await.text;
    assert!(open.contains("1. Enroll. `POST") && open.contains("/v1/agents/claim"), "{open}");
    let server = TestServer::builder().set("REGISTRATION_MODE", "closed").start().await;
    let closed = server.get("/llms.txt").await.text;
    let (_, enroll) = closed.split_once("1. Enroll. `POST ").expect("a first step");
    assert!(enroll.starts_with(&format!("{}/v1/device/code`", server.public_url())), "{enroll}");
    for said in ["/v1/device/token", "verify_url_complete", "3. Deploy."] {
        assert!(closed.contains(said), "{said}: {closed}");
    }
    assert!(!closed.contains("claim code") && !closed.contains("/v1/agents/claim"), "{closed}");
}

#[tokio::test]
async fn the_button_pressed_many_times_at_once_makes_one_agent_and_one_app() {
    let server = TestServer::start().await;
    let ada = server.human("ada@example.org").await;
    let home = server.see(&ada, "/").await;
    let form = home.between("action=\"/first-run\"", "</form>");
    let (_, form) = form.split_once("name=\"form\" value=\"").expect("the form's token");
    let fields = [("form", form.split('"').next().expect("a token"))];
    let answers = join_all((0..8).map(|_| server.submit(&ada, "/first-run", &fields))).await;
    let shown = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(shown, 1, "one of them shows the key");
    for other in answers.iter().filter(|answer| answer.status != 200) {
        let led_to = other.led_to();
        let [begun, there] = ["begun", "there"].map(|w| format!("/?done=first-agent-{w}#notice"));
        assert!(led_to == begun || led_to == there, "{led_to}");
    }
    for list in ["agents", "apps"] {
        let list = server.by(&ada, GET, &format!("/v1/self/{list}"));
        let items = Answer::of(list).await.expect(200)["items"].clone();
        assert_eq!(items.as_array().map(Vec::len), Some(1), "{items}");
    }
}
