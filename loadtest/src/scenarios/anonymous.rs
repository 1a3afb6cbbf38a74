//! Anonymous visitors that write through an app's own origin, within a budget. First how fast that
//! is under a budget that does not bind; then whether one that does holds exactly, though many
//! write at once.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use clap::Args;
use serde_json::{Value, json};

use crate::{
    api::{Api, text},
    client::{Endpoint, RequestHead},
    context::Context,
    failure::Result,
    load::{Mode, Plan, Traffic, Workload, traffic::write_row},
    result::Better,
    target::{App, manifest},
};

/// Writes a day that are more than any run makes.
const UNBOUND: u64 = 1_000_000;
/// The one path that visitors write to.
const PATH: &str = "/s/collections/rows";
/// What the service answers beyond the budget.
const REFUSAL: &str = "collection_write_budget_exceeded";

/// What is asked.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// Visitors, each with a token of its own.
    #[arg(long, default_value_t = 32)]
    pub visitors: usize,
    /// Writes that the binding budget allows. Twice as many are tried.
    #[arg(long, default_value_t = 500)]
    pub budget: u64,
}

/// Measures it.
///
/// # Errors
/// When the server refuses an app or a visitor, or a phase cannot be carried out.
pub async fn run(context: &mut Context, options: &Options) -> Result<()> {
    let (free, free_work) = open(context, options, UNBOUND).await?;
    for run in 1..=context.load.runs {
        let plan = context.load.plan();
        let case = "anonymous/create";
        context.measure_at(&free, case, run, &plan, Arc::clone(&free_work) as _).await?;

        let (bound, bound_work) = open(context, options, options.budget).await?;
        let plan = Plan {
            mode: Mode::Closed,
            requests_max: Some(options.budget * 2),
            ..context.load.plan()
        };
        let found = context.measure_at(&bound, "anonymous/budget", run, &plan, bound_work).await?;
        let refused = found.errors.get(REFUSAL).copied().unwrap_or_default();
        if found.ok != options.budget || refused != options.budget {
            context.warn(format!(
                "anonymous run {run}: a budget of {} let {} of {} writes through and refused {refused}",
                options.budget, found.ok, found.sent
            ));
        }
        let beyond = found.ok.abs_diff(options.budget);
        context.figure("anonymous: writes off the budget", "writes", Better::Lower, beyond as f64);
    }
    Ok(())
}

/// A public app with this budget, and its visitors.
async fn open(
    context: &Context,
    options: &Options,
    budget: u64,
) -> Result<(Endpoint, Arc<VisitorWork>)> {
    let app: App = context.target.deploy_with(public(budget), "public", 0).await?;
    let endpoint = context.target.api.endpoint().of_app(&app.url).await?;
    let api = Api::new(&endpoint);
    let mut heads = Vec::with_capacity(options.visitors);
    for _ in 0..options.visitors.max(1) {
        let entered = api.expect("POST", "/s/session", Some(&json!({}))).await?;
        let token = text(&entered, "/token", "POST /s/session")?;
        let fields = [("x-service-participant-token", token), ("origin", endpoint.origin())];
        heads.push(RequestHead::new(&endpoint, &fields));
    }
    let work = VisitorWork {
        heads: heads.into(),
        next: AtomicUsize::new(0),
        names: Arc::new(AtomicU64::new(0)),
    };
    Ok((endpoint, Arc::new(work)))
}

fn public(budget: u64) -> Value {
    let mut manifest = manifest();
    let collection = &mut manifest["collections"]["rows"];
    collection["permissions"] = json!({
        "read": ["anyone"], "write": ["anyone"], "update": ["creator"],
        "delete": ["owner"], "countRead": ["anyone"],
    });
    collection["anonWriteBudget"] = json!({"perIpPerDay": UNBOUND, "perAppDay": budget});
    manifest
}

struct VisitorWork {
    heads: Arc<[RequestHead]>,
    next: AtomicUsize,
    names: Arc<AtomicU64>,
}

impl Workload for VisitorWork {
    fn lanes(&self) -> usize {
        1
    }

    fn meant_refusal(&self) -> Option<&'static str> {
        Some(REFUSAL)
    }

    fn worker(&self, _seed: u64) -> Box<dyn Traffic> {
        let visitor = self.next.fetch_add(1, Ordering::Relaxed) % self.heads.len();
        Box::new(VisitorTraffic {
            head: self.heads[visitor].clone(),
            names: Arc::clone(&self.names),
            body: String::new(),
        })
    }
}

struct VisitorTraffic {
    head: RequestHead,
    names: Arc<AtomicU64>,
    body: String,
}

impl Traffic for VisitorTraffic {
    fn next(&mut self, request: &mut Vec<u8>) -> usize {
        self.body.clear();
        write_row(&mut self.body, self.names.fetch_add(1, Ordering::Relaxed));
        self.head.json(request, "POST", PATH, self.body.as_bytes());
        0
    }
}
