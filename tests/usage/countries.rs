//! Where countries come from: a header of a trusted proxy, a database of networks, or nowhere.

use std::path::Path;

use serde_json::{Value, json};

use super::{mmdb, public_app, report, view, visit};
use crate::harness::TestServer;

async fn countries(server: &TestServer, requests: &[&[(&str, &str)]]) -> Value {
    let owner = server.owner("ada").await;
    let app = public_app(server, &owner, "garden").await;
    for headers in requests {
        let request = visit(server, &app, "/");
        view(headers.iter().fold(request, |request, (name, value)| request.header(*name, *value)))
            .await;
    }
    let found = report(server, &owner, &app, "/analytics").await;
    let items = found["by_country"].as_array().unwrap();
    items
        .iter()
        .map(|one| (one["country"].as_str().unwrap().to_owned(), one["uniques"].clone()))
        .collect()
}

#[tokio::test]
async fn a_database_says_in_which_country_a_client_is() {
    // MaxMind's own, and two that others make in its format.
    for place in [&["country", "iso_code"][..], &["country_code"], &["country"]] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("countries.mmdb");
        std::fs::write(&file, mmdb::database(place, &[(81, "DE"), (82, "FR")])).unwrap();
        let server = TestServer::builder()
            .set("ROOKERY__METERS__COUNTRY_DATABASE", file.to_str().unwrap())
            .set("ROOKERY__SERVER__TRUSTED_PROXIES", "127.0.0.1")
            .start()
            .await;
        let addresses = ["81.1.2.3", "81.9.9.9", "82.1.2.3", "9.9.9.9", "81.1.2.3"];
        let from = addresses.map(|address| [("x-forwarded-for", address)]);
        let found = countries(&server, &from.each_ref().map(|headers| &headers[..])).await;
        assert_eq!(found, json!({"DE": 2, "FR": 1, "unknown": 1}), "{place:?}");
    }
}

#[tokio::test]
async fn a_header_is_believed_of_a_trusted_proxy_only() {
    for (trusted, expected) in
        [("127.0.0.1", json!({"SE": 1, "unknown": 1})), ("10.0.0.0/8", json!({"unknown": 1}))]
    {
        let server = TestServer::builder()
            .set("ROOKERY__METERS__COUNTRY_HEADER", "CF-IPCountry")
            .set("ROOKERY__SERVER__TRUSTED_PROXIES", trusted)
            .start()
            .await;
        let from = |address, country| [("x-forwarded-for", address), ("cf-ipcountry", country)];
        let requests = [from("9.9.9.9", "se"), from("8.8.8.8", "XX")];
        assert_eq!(countries(&server, &[&requests[0], &requests[1]]).await, expected);
    }
}

/// Why a server with this database does not start.
async fn no_start(file: &Path) -> String {
    let folder = tempfile::tempdir().unwrap();
    let builder = TestServer::builder().in_folder(folder.path());
    let builder = builder.set("ROOKERY__METERS__COUNTRY_DATABASE", file.to_str().unwrap());
    let error = rookery::start(builder.config(), rookery::Hooks::default()).await;
    error.err().expect("no start").to_string()
}

#[tokio::test]
async fn a_database_that_cannot_be_read_stops_the_start_by_name() {
    let error = no_start(Path::new("/nowhere/countries.mmdb")).await;
    assert!(error.starts_with("meters.country_database: /nowhere/countries.mmdb"), "{error}");
}

#[tokio::test]
async fn a_database_that_knows_no_country_stops_the_start_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("owners.mmdb");
    std::fs::write(&file, mmdb::database(&["organization"], &[(81, "Example")])).unwrap();
    let error = no_start(&file).await;
    let name = format!("meters.country_database: {}: ", file.display());
    assert!(error.starts_with(&name) && error.contains("country.iso_code"), "{error}");
    assert_eq!(error.lines().count(), 1);
}
