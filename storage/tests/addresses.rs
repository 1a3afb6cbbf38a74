//! How PostgreSQL is reached by its address, and what its sessions are like.

use rookery_storage::{Db, StorageOptions, meta};
use rookery_testkit::postgres;
use tempfile::tempdir;
use tokio::net::TcpListener;

#[tokio::test]
async fn on_loopback_there_is_tls_where_it_is_asked_for_and_not_else() {
    let Some(cluster) = postgres() else { return };
    let database = cluster.empty_database().await;
    let folder = tempdir().unwrap();
    for (query, is_encrypted) in [
        ("", false),
        ("?sslmode=prefer", false),
        ("?sslmode=disable", false),
        ("?sslmode=require", true),
    ] {
        let url = database.on_loopback() + query;
        let db = Db::connect(&StorageOptions::postgres(url, folder.path())).await.unwrap();
        meta::set(&db, "name", query).await.unwrap();
        let (with, without) = database.encrypted().await;
        assert!(with + without > 0 && if is_encrypted { without } else { with } == 0, "{query}");
        db.close().await;
    }
}

#[tokio::test]
async fn an_ipv6_address_is_an_address_and_no_name() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let hang_up = tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            drop(connection);
        }
    });
    let url = format!("postgres://ann@[::ffff:127.0.0.1]:{port}/rookery");
    let folder = tempdir().unwrap();
    let error = Db::connect(&StorageOptions::postgres(url, folder.path())).await.unwrap_err();
    hang_up.abort();
    assert!(!error.to_string().contains("lookup"), "{error}");
}

#[tokio::test]
async fn rows_that_a_policy_would_hide_are_not_taken_for_none() {
    let Some(cluster) = postgres() else { return };
    let database = cluster.empty_database().await;
    let folder = tempdir().unwrap();
    let open = async |url| Db::connect(&StorageOptions::postgres(url, folder.path())).await;
    let own = open(database.url.clone()).await.unwrap();
    meta::set(&own, "name", "value").await.unwrap();
    let role = open(database.of_role(20).await).await.unwrap();
    assert_eq!(meta::get(&role, "name").await.unwrap().as_deref(), Some("value"));
    let policy = "alter table meta enable row level security";
    let Db::Postgres(postgres) = &own else { unreachable!() };
    sqlx::query(policy).execute(postgres.pool()).await.unwrap();
    let hidden = meta::get(&role, "name").await.unwrap_err();
    assert!(hidden.to_string().contains("row-level security"), "{hidden}");
}
