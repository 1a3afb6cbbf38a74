//! `rookery demo`: the main job, done for real against the server's own HTTP port: a human and an
//! agent enroll, two example apps go live, rows are written and followed. Every request is shown
//! as the curl line that does the same.

mod terminal;

use std::time::Duration;

use reqwest::{Method, multipart::Form};
use serde_json::{Value, json};

use terminal::{Call, Terminal};

/// How long the demo waits for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An example app, compiled in; the curl lines read the same files from the checkout.
pub(crate) struct Example {
    /// Its folder's name.
    pub(crate) name: &'static str,
    /// Its document.
    pub(crate) html: &'static str,
    /// Its manifest.
    pub(crate) manifest: &'static str,
}

/// An app with one collection that everybody may sign.
pub(crate) const GUESTBOOK: Example = Example {
    name: "guestbook",
    html: include_str!("../../examples/guestbook/index.html"),
    manifest: include_str!("../../examples/guestbook/manifest.json"),
};

const BOARD: Example = Example {
    name: "board",
    html: include_str!("../../examples/board/index.html"),
    manifest: include_str!("../../examples/board/manifest.json"),
};

/// Why the demo ended early.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// No answer.
    #[error("the demo got no answer: {0}")]
    Http(#[from] reqwest::Error),
    /// Not the answer that the documents promise.
    #[error("{step} answered {status}: {body}")]
    Unexpected {
        /// What was asked.
        step: String,
        /// The status.
        status: u16,
        /// The body.
        body: String,
    },
    /// The demo reads the mail it asked for from the development mailbox.
    #[error(
        "the demo needs the development mailbox: server.listen and server.public_url on \
         loopback, and no SMTP_URL"
    )]
    NoMailbox,
    /// The terminal is gone.
    #[error("the demo cannot print: {0}")]
    Print(#[from] std::io::Error),
}

/// Runs the demo against the server at `base` (an origin, no slash at the end). The apps it
/// deploys stay.
///
/// # Errors
/// [`DemoError`], at the first response that is not the promised one.
pub async fn run(base: &str) -> Result<(), DemoError> {
    let client = crate::outbound::with_or_without_anchors(|| {
        reqwest::Client::builder().timeout(TIMEOUT).redirect(reqwest::redirect::Policy::none())
    })?;
    let mut terminal = Terminal::new(client, base.to_owned());

    terminal.heading("A human signs in by a mailed link")?;
    sign_in(&mut terminal).await?;

    terminal.heading("An agent enrolls, and the human claims it")?;
    enroll(&mut terminal).await?;

    terminal.heading("The agent deploys two apps")?;
    let guestbook = deploy(&mut terminal, &GUESTBOOK).await?;
    let board = deploy(&mut terminal, &BOARD).await?;

    terminal.heading("It writes rows, and follows what happens")?;
    rows(&mut terminal, &guestbook).await?;
    rules(&mut terminal, &board).await?;

    terminal.heading("Open them")?;
    terminal.note(&format!("{}\n{}", text(&guestbook, "url"), text(&board, "url")))?;
    Ok(())
}

async fn sign_in(terminal: &mut Terminal) -> Result<(), DemoError> {
    const EMAIL: &str = "you@example.org";
    let body = json!({"email": EMAIL});
    terminal.call(Call::new(Method::POST, "/v1/auth/request-link").json(body), 202).await?;
    let mailbox = format!("/dev/mailbox?to={EMAIL}");
    let mail = terminal
        .call(Call::new(Method::GET, &mailbox).header("accept", "application/json"), 200)
        .await
        .map_err(|_| DemoError::NoMailbox)?;
    let token = mail["items"][0]["text"]
        .as_str()
        .and_then(|text| text.split("token=").nth(1))
        .and_then(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next())
        .ok_or(DemoError::NoMailbox)?;
    let verify = format!("/v1/auth/verify?token={token}");
    terminal.sign_in(&verify).await
}

async fn enroll(terminal: &mut Terminal) -> Result<(), DemoError> {
    let body = json!({"name": "Demo agent"});
    let enrolled = terminal.call(Call::new(Method::POST, "/v1/register").json(body), 201).await?;
    terminal.remember("ROOKERY_KEY", &text(&enrolled["key"], "secret"))?;
    let code = terminal
        .call(Call::new(Method::POST, "/v1/self/claim-codes").by_human().json(json!({})), 201)
        .await?;
    let claim = json!({"code": text(&code, "code")});
    terminal.call(Call::new(Method::POST, "/v1/agents/claim").by_agent().json(claim), 200).await?;
    Ok(())
}

/// Deploys an example under its own name, or under a generated one when that is taken.
async fn deploy(terminal: &mut Terminal, example: &Example) -> Result<Value, DemoError> {
    let (html, manifest) = (example.html, example.manifest);
    let form = move |slug: Option<&'static str>| {
        let form = Form::new().text("html", html).text("manifest", manifest);
        match slug {
            Some(slug) => form.text("slug", slug),
            None => form,
        }
    };
    let files = format!(
        "-F html=@examples/{0}/index.html -F manifest=@examples/{0}/manifest.json",
        example.name
    );
    let named = Call::new(Method::POST, "/v1/apps")
        .by_agent()
        .form(form(Some(example.name)), format!("{files} -F slug={}", example.name));
    match terminal.call(named, 201).await {
        Err(DemoError::Unexpected { status: 409, .. }) => {
            let unnamed = Call::new(Method::POST, "/v1/apps").by_agent().form(form(None), files);
            terminal.call(unnamed, 201).await
        }
        answer => answer,
    }
}

async fn rows(terminal: &mut Terminal, app: &Value) -> Result<(), DemoError> {
    let entries = format!("/v1/apps/{}/collections/entries", text(app, "slug"));
    let feed = format!("/v1/apps/{}/feed", text(app, "slug"));
    let start = terminal.call(Call::new(Method::GET, &feed).by_agent(), 200).await?;
    for (name, message) in
        [("Ada", "The first note in the book."), ("Grace", "Somebody had to be second.")]
    {
        let row = json!({"data": {"name": name, "message": message}});
        terminal.call(Call::new(Method::POST, &entries).by_agent().json(row), 201).await?;
    }
    let page = format!("{entries}?sort=-created_at&limit=2");
    let list = terminal.call(Call::new(Method::GET, &page).by_agent(), 200).await?;
    let newest = format!("{entries}/{}", text(&list["items"][0], "key"));
    let patch = json!({"data": {"message": "Second, and edited."}, "if_match": 1});
    terminal.call(Call::new(Method::PATCH, &newest).by_agent().json(patch), 200).await?;
    let since = format!("{feed}?wait=1&since={}", text(&start, "cursor"));
    terminal.call(Call::new(Method::GET, &since).by_agent(), 200).await?;
    Ok(())
}

/// What the second app's manifest forbids is refused, each refusal with its own code.
async fn rules(terminal: &mut Terminal, app: &Value) -> Result<(), DemoError> {
    let base = format!("/v1/apps/{}/collections", text(app, "slug"));
    let ideas = format!("{base}/ideas");
    let idea = json!({"data": {"title": "A bench by the pond"}});
    let first = terminal.call(Call::new(Method::POST, &ideas).by_agent().json(idea), 201).await?;
    terminal.note("`title` is unique, whatever its capitals and the spaces around it:")?;
    let again = json!({"data": {"title": "  a BENCH by the pond "}});
    terminal.call(Call::new(Method::POST, &ideas).by_agent().json(again), 409).await?;
    let decisions = format!("{base}/decisions");
    let decision = json!({"data": {"idea": text(&first, "key"), "status": "planned"}});
    let decided =
        terminal.call(Call::new(Method::POST, &decisions).by_agent().json(decision), 201).await?;
    terminal.note("`decisions` is append-only:")?;
    let row = format!("{decisions}/{}", text(&decided, "key"));
    terminal.call(Call::new(Method::DELETE, &row).by_agent(), 403).await?;
    Ok(())
}

fn text(record: &Value, member: &str) -> String {
    record[member].as_str().unwrap_or_default().to_owned()
}
