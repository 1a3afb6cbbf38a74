//! Who may do what, whole: every kind of caller, every operation on rows, every kind of permission
//! list, through HTTP, against a plain model of the specification. `model` is written from the
//! words of the documents and knows nothing of how the service decides.

pub mod callers;
mod feed;
pub mod lists;
mod model;
mod run;
pub mod setup;

use futures::{StreamExt as _, stream};
use run::Run;

/// Collections that are walked at the same time.
const AT_ONCE: usize = 8;

/// Walks an app of this visibility and fails with what differs from the model.
async fn walk(visibility: &'static str) {
    let house = setup::House::build(visibility).await;
    let runs = stream::iter(0..lists::COLLECTIONS)
        .map(|at| Run::of(&house, at).walk())
        .buffer_unordered(AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    let mut differences: Vec<String> = Vec::new();
    let mut asked = 0;
    let mut collections = Vec::new();
    for run in runs {
        asked += run.asked;
        differences.extend(run.differences);
        collections.push(run.collection);
    }
    differences.extend(feed::differences(&house, &collections).await);
    assert!(asked > 5_000, "only {asked} questions asked");
    let some: Vec<_> = differences.iter().take(25).map(String::as_str).collect();
    let count = differences.len();
    assert!(differences.is_empty(), "{count} of {asked} differ:\n{}", some.join("\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_private_app_everybody_may_what_the_model_says() {
    walk("private").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn in_a_public_app_everybody_may_what_the_model_says() {
    walk("public").await;
}
