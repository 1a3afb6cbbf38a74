//! `GET /ops/api/tree`: the supervision tree, its subsystems, and a shard's apps in pages.

use axum::{Json, extract::State};
use rookery_actors::observe::view::TREE_PAGE_MAX;
use rookery_domain::{Error, ErrorCode};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{app::AppLine, operator::Operator};
use crate::{
    error::ApiResult,
    http::params::{StrictQuery, check_limit},
    state::AppState,
};

/// Errors of this route.
pub const ERRORS: &[ErrorCode] = &[ErrorCode::NotFound];
/// Apps in one page, where the request does not say.
pub const PAGE: usize = 50;

/// Which shard is open, and which page of it.
#[derive(Debug, Clone, Copy, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TreeQuery {
    /// The shard whose apps are listed; none without it.
    pub shard: Option<usize>,
    /// Only apps behind this place (`next` of the page before).
    pub after: Option<u64>,
    /// At most this many apps: 1 to 200, 50 by default.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<usize>,
}

/// The tree: below the root are the directory, the shards with the live apps, and the workers. The
/// writer, which is no actor, stands beside it.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Tree {
    /// The writer.
    pub writer: WriterNode,
    /// The directory of accounts.
    pub directory: DirectoryNode,
    /// The shard supervisors.
    pub shards: Vec<ShardNode>,
    /// The workers.
    pub workers: Vec<WorkerNode>,
    /// The apps of the shard that was asked for, in the order in which they started.
    pub apps: Vec<AppLine>,
    /// `after` of the next page, if there is one.
    pub next: Option<u64>,
}

/// The commit writer.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct WriterNode {
    /// It commits.
    pub ok: bool,
    /// Its lanes.
    pub lanes: u64,
    /// Of these, dead.
    pub dead_lanes: u64,
    /// Groups that wait.
    pub queued: u64,
    /// Times a lane was restarted.
    pub restarts: u64,
}

/// The directory of accounts, keys and sessions.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct DirectoryNode {
    /// It answers; not while it is loaded anew after a crash.
    pub ok: bool,
}

/// A shard supervisor.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct ShardNode {
    /// Its number.
    pub shard: u64,
    /// Live apps under it.
    pub apps: u64,
    /// Messages of its apps since the process started.
    pub messages: u64,
    /// Rows of its apps.
    pub resident_rows: u64,
    /// About how many bytes its apps hold.
    pub resident_bytes: u64,
}

/// A worker.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct WorkerNode {
    /// What it is for.
    pub kind: String,
    /// Rounds that ended.
    pub rounds: u64,
    /// Times it crashed and was replaced.
    pub restarts: u64,
    /// When its last round ended, RFC 3339.
    pub last_round_at: Option<String>,
    /// Things that the last round dealt with.
    pub last_count: u64,
    /// What went wrong in the last round.
    pub last_error: Option<String>,
}

/// The tree, with a page of one shard's apps.
///
/// # Errors
/// `not_found` when there is no such shard.
pub fn read(state: &AppState, query: TreeQuery) -> Result<Tree, Error> {
    let apps = state.rooms.apps();
    let limit = query.limit.unwrap_or(PAGE).clamp(1, TREE_PAGE_MAX);
    let page = match query.shard {
        None => None,
        Some(shard) => {
            let page = apps.shard_page(shard, query.after.unwrap_or(0), limit);
            let unknown = || Error::new(ErrorCode::NotFound, format!("there is no shard {shard}"));
            Some(page.ok_or_else(unknown)?)
        }
    };
    let totals = apps.totals();
    let shards =
        apps.shard_sizes().into_iter().zip(&totals.shards).map(|(size, counted)| ShardNode {
            shard: size.shard as u64,
            apps: size.apps as u64,
            messages: counted.message_count(),
            resident_rows: counted.resident_rows,
            resident_bytes: counted.resident_bytes,
        });
    let workers = state.rooms.runtime.workers().observe().into_iter().map(|worker| WorkerNode {
        kind: worker.kind.as_str().to_owned(),
        rounds: worker.rounds,
        restarts: worker.restarts,
        last_round_at: worker.last_round_at.map(|at| at.to_string()),
        last_count: worker.last_count,
        last_error: worker.last_error,
    });
    let writer = state.rooms.writer.health();
    Ok(Tree {
        writer: WriterNode {
            ok: writer.ok,
            lanes: writer.lanes as u64,
            dead_lanes: writer.dead_lanes as u64,
            queued: writer.queued as u64,
            restarts: writer.restarts,
        },
        directory: DirectoryNode { ok: state.rooms.directory.is_up() },
        shards: shards.collect(),
        workers: workers.collect(),
        next: page.as_ref().and_then(|page| page.next),
        apps: page.map_or_else(Vec::new, |page| page.apps.iter().map(AppLine::of).collect()),
    })
}

/// The supervision tree. Apps are listed for one shard at a time, in pages.
#[utoipa::path(
    get, path = "/ops/api/tree", tag = "Operators", params(TreeQuery),
    responses((status = 200, description = "The tree", body = Tree)),
)]
pub async fn tree(
    _: Operator,
    State(state): State<AppState>,
    StrictQuery(query): StrictQuery<TreeQuery>,
) -> ApiResult<Json<Tree>> {
    check_limit(query.limit, TREE_PAGE_MAX)?;
    Ok(Json(read(&state, query)?))
}
