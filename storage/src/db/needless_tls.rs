//! TLS between two processes of one machine, which protects nothing and takes its time: the driver
//! sends each 16 KB of a message by themselves, and the kernel holds back the second until the first
//! is acknowledged, after 40 ms on loopback (`TCP_NODELAY`, which the driver sets from the version
//! after 0.9.0 on). An operator who asks for TLS has it.

use std::net::IpAddr;

use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgSslMode},
};

use super::postgres::session;

/// Whether the server's end of a connection is on loopback, and the connection encrypted.
const ENCRYPTED_ON_LOOPBACK: &str = "
    select ssl and (inet_server_addr() <<= '127.0.0.0/8' or host(inet_server_addr()) = '::1')
    from pg_stat_ssl where pid = pg_backend_pid()";

/// How to connect without TLS, where `pool` has it though nobody asked for it, both ends are on this
/// machine, and the server lets the role in without. Where only this end is, something forwards to another
/// machine, perhaps in the clear.
pub(super) async fn without(connect: &PgConnectOptions, pool: &PgPool) -> Option<PgConnectOptions> {
    let is_optional = matches!(connect.get_ssl_mode(), PgSslMode::Prefer);
    if !is_optional || !is_loopback(connect.get_host()) {
        return None;
    }
    let encrypted = sqlx::query_scalar::<_, Option<bool>>(ENCRYPTED_ON_LOOPBACK);
    // What speaks PostgreSQL and cannot tell stays as it is.
    if !matches!(encrypted.fetch_optional(pool).await, Ok(Some(Some(true)))) {
        return None;
    }
    let plain = connect.clone().ssl_mode(PgSslMode::Disable);
    session(&plain).await.is_ok().then_some(plain)
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}
