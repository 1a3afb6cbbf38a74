//! Making apps: what a creation that comes to nothing leaves behind.

use rookery_actors::{AppHosts, RuntimeOptions, app::message::NewRow, control::IdempotentCreate};
use rookery_domain::{ErrorCode, idempotency::IdempotentRequest, limits::Limits};
use rookery_storage::faults::Faults;

use crate::support::{MANIFEST, expect_panics, object, real::House};

const ROWS_MAX: u64 = 3;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_of_an_app_that_was_not_made_count_for_nobody() {
    expect_panics();
    let limits = Limits { max_rows_per_account: ROWS_MAX, ..Limits::default() };
    let house = House::open_limited(Faults::default(), RuntimeOptions::default(), limits).await;
    let full = |slug: &str| {
        let mut request = house.request(slug, MANIFEST);
        let row = NewRow { key: None, data: object("{}") };
        request.input_data.insert("entries".to_owned(), vec![row; ROWS_MAX as usize]);
        request
    };
    let control = house.runtime.control();
    house.app("taken").await;
    let refused = control.create(full("taken")).await.expect_err("the slug is not free");
    assert_eq!(refused.code, ErrorCode::SlugTaken);
    let mut crashing = full("notes");
    crashing.idempotency = Some(IdempotentCreate {
        request: IdempotentRequest { scope: [1; 32], body_hash: [1; 32] },
        render: Box::new(|_| panic!("injected")),
    });
    let crashed = control.create(crashing).await.expect_err("it crashed on its way");
    assert_eq!(crashed.code, ErrorCode::Internal);
    control.create(full("notes")).await.expect("the account has room for all of its rows");
    let more = control.create(full("more")).await.expect_err("and now it is full");
    assert_eq!(more.code, ErrorCode::AccountQuotaExceeded);
    house.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_does_not_name_the_site_that_it_lives_on() {
    let app_hosts = AppHosts::Site("rookery.example.org".to_owned());
    let options = RuntimeOptions { app_hosts, ..RuntimeOptions::default() };
    let house = House::open_with(Faults::default(), options).await;
    let control = house.runtime.control();
    let create = |host: &str| {
        let manifest = format!("{{\"externalHosts\": [\"{host}\"]}}");
        control.create(house.request("notes", &manifest))
    };
    for own in ["rookery.example.org", "*.example.org"] {
        let refused = create(own).await.expect_err("it would reach its neighbours");
        assert_eq!(refused.code, ErrorCode::ExternalHostInvalid, "{own}");
    }
    create("other.example.org").await.expect("any other host");
    house.close().await;
}
