//! What a permission check costs: the same reads by the owner, a member, a service credential and
//! the holder of a grant link, of an app that is shared with nobody else and of one that is shared
//! with thousands. Which caller and which app come in turn, so that a machine that slows down does
//! so for all of them.

use std::sync::{Arc, atomic::AtomicU64};

use clap::Args;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};

use crate::{
    api::{Api, text},
    client::{Endpoint, RequestHead},
    context::Context,
    enroll::sign_in,
    failure::{Failure, Result},
    load::{
        Mode,
        traffic::{Operation, RowWork},
    },
    result::Better,
    stats::Zipf,
    target::{App, manifest},
};

/// Members and links added at a time.
const AT_ONCE: usize = 64;
/// The address of the member that reads.
const MEMBER: &str = "load-member@example.org";
/// The custom role of grant links.
const ROLE: &str = "reader";

/// What is asked.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Members of the app that is shared with many, and as many grant links.
    #[arg(long, default_value_t = 10_000)]
    pub shared_with: usize,
    /// Rows of each app.
    #[arg(long, default_value_t = 500)]
    pub rows: usize,
}

/// Somebody who reads.
struct Reader {
    /// As results name it.
    name: &'static str,
    /// The app's own origin for a visitor, else the service's.
    endpoint: Endpoint,
    work: Arc<RowWork>,
}

/// Measures it.
///
/// # Errors
/// When the server refuses a step or has no development mailbox, or a phase cannot be carried out.
pub async fn run(context: &mut Context, options: &Options) -> Result<()> {
    let step = context.view.step("sharing");
    let few = readers(context, options.rows, 0).await?;
    let many = readers(context, options.rows, options.shared_with).await?;
    drop(step);
    let size = options.shared_with;
    let is_closed = context.load.plan().mode == Mode::Closed;
    for run in 1..=context.load.runs {
        let mut owner = None;
        for (few, many) in few.iter().zip(&many) {
            let name = few.name;
            let alone = measure(context, &format!("permissions/{name}"), run, few).await?;
            let case = format!("permissions/{name}-of-{size}");
            let crowded = measure(context, &case, run, many).await?;
            // At a given rate all of them answer as much; their latencies tell them apart.
            if !is_closed {
                continue;
            }
            let owner = *owner.get_or_insert(alone);
            let share = format!("permissions: {name}'s reads as a share of the owner's");
            context.figure(&share, "ratio", Better::Higher, alone / owner);
            let share = format!("permissions: {name}'s reads with {size} others, as a share");
            context.figure(&share, "ratio", Better::Higher, crowded / alone);
        }
    }
    Ok(())
}

/// Answers a second.
async fn measure(context: &mut Context, case: &str, run: usize, reader: &Reader) -> Result<f64> {
    let plan = context.load.plan();
    let work = Arc::clone(&reader.work) as _;
    Ok(context.measure_at(&reader.endpoint, case, run, &plan, work).await?.throughput)
}

/// An app with one reader of each kind, shared with so many others as well. The owner comes first.
async fn readers(context: &Context, rows: usize, others: usize) -> Result<Vec<Reader>> {
    let api = &context.target.api;
    let mut shared = manifest();
    shared["roles"] = json!({ROLE: {"title": "Reader"}});
    shared["collections"]["rows"]["permissions"]["read"] = json!(["member", ROLE]);
    let app = context.target.deploy_with(shared, "private", rows).await?;
    let below = |path: &str| format!("/v1/apps/{}{path}", app.id);
    let post = async |path: &str, body: Value| api.expect("POST", &below(path), Some(&body)).await;
    let added = stream::iter(0..others).map(async |n| {
        post("/members", json!({"email": format!("load-{n}@example.org")})).await?;
        post("/grants", json!({"role": ROLE})).await.map(drop)
    });
    added.buffer_unordered(AT_ONCE).try_collect::<()>().await?;

    let site = api.endpoint();
    let nobody = Api::new(site);
    let session = sign_in(&nobody, MEMBER).await?;
    post("/members", json!({"email": MEMBER})).await?;
    let rights = json!({"mode": "following", "operations": ["read"]});
    let credential = post("/credentials", rights).await?;
    let bearer = format!("Bearer {}", text(&credential, "/token", "POST credentials")?);
    let grant = post("/grants", json!({"role": ROLE})).await?;
    let grant = text(&grant, "/url", "POST grants")?;
    let authorize = format!("/authorize?app={}", app.id);
    let authorized = nobody.with(&[("cookie", &session)]).call("GET", &authorize, None).await?;
    let callback = authorized
        .location
        .ok_or_else(|| Failure::Answer { what: "GET /authorize".to_owned(), member: "location" })?;
    let origin = site.of_app(&app.url).await?;
    let on_site = |name, api: &Api| reader(name, site, api.head(), app.collection(), rows);
    let on_origin =
        |name, head| reader(name, &origin, head, "/s/collections/rows".to_owned(), rows);
    Ok(vec![
        on_site("owner", api),
        on_origin("member", visitor(&app, &origin, &callback).await?),
        on_site("credential", &nobody.with(&[("authorization", &bearer)])),
        on_origin("grant-holder", visitor(&app, &origin, grant).await?),
    ])
}

/// The head of the requests of a visitor that came by the link `url` to the app's `origin`.
async fn visitor(app: &App, origin: &Endpoint, url: &str) -> Result<RequestHead> {
    let what = || "a link into the app".to_owned();
    let path = url.strip_prefix(app.url.trim_end_matches('/'));
    let path = path.ok_or_else(|| Failure::Answer { what: what(), member: "url" })?;
    let came_in = Api::new(origin).call("GET", path, None).await?;
    let cookie = came_in.cookie.as_deref().and_then(|cookie| cookie.split_once('='));
    let (_, token) =
        cookie.ok_or_else(|| Failure::Answer { what: what(), member: "set-cookie" })?;
    Ok(RequestHead::new(origin, &[("x-service-participant-token", token)]))
}

fn reader(
    name: &'static str,
    endpoint: &Endpoint,
    head: RequestHead,
    collection: String,
    rows: usize,
) -> Reader {
    let work = RowWork {
        head,
        collections: [collection].into(),
        operation: Operation::Get,
        rows,
        page: 50,
        popularity: Zipf::new(1, 0.0),
        names: Arc::new(AtomicU64::new(0)),
    };
    Reader { name, endpoint: endpoint.clone(), work: Arc::new(work) }
}
