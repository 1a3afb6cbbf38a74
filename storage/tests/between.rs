//! What stands between a server and PostgreSQL here: errors that end a connection or the whole server, which
//! get that severity on their way, and silence.

use std::{future::pending, time::Duration};

use rookery_storage::{
    Db, StorageError, StorageOptions, Writer, WriterOptions,
    commit::{Abort, Outcome},
    meta,
};
use sqlx::Executor as _;
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy, copy_bidirectional},
    net::{TcpListener, TcpStream, UnixStream},
};

use crate::{
    postgres_only::refuse_commits,
    support::{TestDb, number, on_postgres, row},
    writer::kit::{Draft, deploy, load},
};

/// Where PostgreSQL keeps the severity of an error that no language changes. All words are as long.
const ERROR: &[u8] = b"\0VERROR\0";

/// Passes bytes on, errors with another severity.
async fn reword(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    severity: &'static str,
) -> std::io::Result<()> {
    let mut bytes = vec![0; 1 << 16];
    loop {
        let len = from.read(&mut bytes).await?;
        if len == 0 {
            return to.shutdown().await;
        }
        let found = bytes[..len].windows(ERROR.len()).position(|window| window == ERROR);
        if let Some(at) = found {
            bytes[at + 2..at + ERROR.len() - 1].copy_from_slice(severity.as_bytes());
        }
        to.write_all(&bytes[..len]).await?;
    }
}

/// An address at which `serve` gets each connection and one to the test's database.
async fn between<F>(
    test: &TestDb,
    serve: impl Fn(usize, TcpStream, UnixStream) -> F + Send + 'static,
) -> String
where
    F: Future<Output = std::io::Result<()>> + Send + 'static,
{
    let url = &test.database.as_ref().expect("PostgreSQL").url;
    let (folder, name) = url.rsplit_once('/').expect("a database");
    let (_, folder) = folder.rsplit_once('@').expect("a role");
    let socket = format!("{}/.s.PGSQL.5432", folder.replace("%2F", "/"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("postgres://rookery@{}/{name}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        for number in 0.. {
            let (client, _) = listener.accept().await.expect("a connection");
            let server = UnixStream::connect(&socket).await.expect("the cluster answers");
            tokio::spawn(serve(number, client, server));
        }
    });
    url + "?sslmode=disable"
}

/// The test's database, as a server with errors of this severity has it.
async fn with_errors(test: &TestDb, severity: &'static str) -> Db {
    let url = between(test, move |_, client, server| async move {
        let (mut asked, answered) = client.into_split();
        let (answers, mut questions) = server.into_split();
        let asks = async {
            copy(&mut asked, &mut questions).await?;
            questions.shutdown().await
        };
        tokio::try_join!(asks, reword(answers, answered, severity)).map(drop)
    });
    Db::connect(&StorageOptions::postgres(url.await, "unused")).await.unwrap()
}

#[test]
fn a_commit_at_which_the_server_ended_has_an_unknown_outcome() {
    // No space for the log, or it cannot be written: an error before COMMIT counts, a panic at it.
    for (severity, sqlstate, is_certain) in [
        ("ERROR", "53100", true),
        ("ERROR", "58030", true),
        ("PANIC", "53100", false),
        ("PANIC", "58030", false),
        ("FATAL", "XX000", false),
        ("FATAL", "25P03", true),
    ] {
        on_postgres(async |test: &TestDb| {
            let Db::Postgres(postgres) = &test.db else { unreachable!() };
            refuse_commits(postgres, 1_000, sqlstate).await;
            let db = with_errors(test, severity).await;
            let error = meta::set(&db, "k", "v").await.unwrap_err();
            assert_eq!(error.is_certain(), is_certain, "{severity} {sqlstate}: {error:?}");
            let attempts = number(&test.db, "select last_value from attempts").await;
            assert!(is_certain || attempts == 1, "{severity} {sqlstate}: {attempts} attempts");
            db.close().await;
        });
    }
}

#[test]
fn a_group_at_which_the_server_ended_has_an_unknown_outcome() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        let app = deploy(test, "notes").await;
        let sql = "create function refuse() returns trigger language plpgsql as $$
                   begin raise exception 'no room' using errcode = '53100'; end $$;
                   create trigger refuse before insert on rows for each row execute function refuse()";
        postgres.pool().execute(sql).await.unwrap();
        for (severity, expected) in
            [("ERROR", Outcome::Aborted(Abort::Full)), ("PANIC", Outcome::Unknown)]
        {
            let db = with_errors(test, severity).await;
            let epoch = db.next_epoch().await.unwrap();
            let writer = Writer::start(&db, epoch, WriterOptions::default()).unwrap();
            let outcome = Draft::new(app, 1).create(row("a", "{}")).commit(&writer).await;
            assert_eq!(outcome, expected, "{severity}");
            writer.drain().await;
            db.close().await;
        }
        assert_eq!(load(&test.db, app).await.head.last_seq, 1);
    });
}

#[test]
fn an_error_that_ended_the_connection_before_commit_is_no_bug_of_ours() {
    on_postgres(async |test: &TestDb| {
        let Db::Postgres(postgres) = &test.db else { unreachable!() };
        // The code with which a database that takes no connections refuses them.
        let sql = "create function refuse() returns trigger language plpgsql as $$
                   begin raise exception 'refused' using errcode = '55000'; end $$;
                   create trigger refuse before insert on meta
                       for each row when (new.key = 'k') execute function refuse()";
        postgres.pool().execute(sql).await.unwrap();
        let db = with_errors(test, "ERROR").await;
        let error = meta::set(&db, "k", "v").await.unwrap_err();
        assert!(matches!(error, StorageError::Refused(_)), "{error:?}");
        db.close().await;
        let db = with_errors(test, "FATAL").await;
        let error = meta::set(&db, "k", "v").await.unwrap_err();
        assert!(matches!(error, StorageError::Aborted(_)), "{error:?}");
        db.close().await;
    });
}

#[test]
fn a_database_that_falls_silent_during_the_start_is_not_waited_for() {
    on_postgres(async |test: &TestDb| {
        let url = between(test, |number, mut client, mut server| async move {
            if number > 0 {
                return pending().await;
            }
            copy_bidirectional(&mut client, &mut server).await.map(drop)
        });
        let options = StorageOptions {
            postgres_answer_timeout: Duration::from_millis(300),
            ..StorageOptions::postgres(url.await, "unused")
        };
        let error = Db::connect(&options).await.unwrap_err().to_string();
        assert!(error.contains("does not answer in time"), "{error}");
    });
}
