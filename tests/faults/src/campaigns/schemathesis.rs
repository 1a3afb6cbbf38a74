//! Our own OpenAPI document, taken at its word: Schemathesis draws requests from it, right and
//! wrong ones. No answer may be a 5xx, and each has to be as the document says.

use std::net::SocketAddr;

use reqwest::Method;
use serde_json::json;
use tokio::{net::UdpSocket, process::Command};

use crate::{
    api::{Api, expect},
    failure::{Failure, Result},
    verdict::Verdict,
    world::{App, World},
};

/// Where the program is; `tests/faults/run` installs it and says so.
const PROGRAM: &str = "SCHEMATHESIS";
/// Requests drawn for each operation in the long form, beside those that cover its parameters.
const EXAMPLES: usize = 50;
/// The same requests each time.
const SEED: &str = "1";
/// What every answer is held against.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
                      response_schema_conformance,response_headers_conformance";
/// Paths that are not asked: those of an app's own origin have another address (what they do is
/// asked under `/v1`), and without an identity provider its two are a documented 501.
const PATHS_LEFT_OUT: &str = "^/s/|^/v1/auth/idp";
/// Operations that would take away what the others are asked about.
const OPERATIONS_LEFT_OUT: [&str; 2] = ["apps_delete", "delete_account"];
/// Bytes of a DNS question by UDP (RFC 1035, section 2.3.4; more with EDNS).
const DNS_MESSAGE_MAX: usize = 4_096;
/// Seconds that a request may take: a poll waits for up to 60.
const REQUEST_TIMEOUT_S: &str = "70";

/// Runs it.
///
/// # Errors
/// When it could not be carried out; also where Schemathesis is not installed.
pub(super) async fn run(world: &World) -> Result<Verdict> {
    let examples = world.count(EXAMPLES, 3);
    let target = format!("{examples} requests an operation: no 5xx, every answer as documented");
    let mut verdict = Verdict::new("schemathesis", target);
    let program = std::env::var_os(PROGRAM)
        .ok_or_else(|| Failure::new("`tests/faults/run schemathesis` installs Schemathesis"))?;
    let scratch = tempfile::tempdir()?;
    let server = world
        .launch(scratch.path())
        .set("ROOKERY__DOMAINS__API_TOKEN", "token")
        .set("ROOKERY__DOMAINS__ZONE_ID", "zone")
        .set("ROOKERY__DOMAINS__CNAME_TARGET", "edge.example.net")
        .set("ROOKERY__DOMAINS__RESOLVER", knows_no_name().await?)
        .start()
        .await?;
    let api = Api::enroll(&server.url, "owner@example.org").await?;
    let app = App::deploy(&api).await?;
    let row = json!({"key": "k1", "data": {"name": "one", "n": 1}});
    expect(api.request(Method::POST, &app.rows()).json(&row), 201).await?;
    // Ids that lead somewhere: with drawn ones nearly every answer would be a 404.
    let settings = scratch.path().join("settings.toml");
    let known = format!(
        "[[operations]]\ninclude-path-regex = '^/v1/apps/\\{{id\\}}'\n\
         parameters = {{ 'path.id' = '{}', 'path.name' = 'rows', 'path.key' = 'k1' }}\n",
        app.id
    );
    std::fs::write(&settings, known)?;
    let mut command = Command::new(program);
    command.current_dir(scratch.path()).arg("--config-file").arg(&settings);
    command.args(["run", &format!("{}/v1/openapi.json", server.url)]);
    command.args(["--header", &format!("authorization: Bearer {}", api.key)]);
    command.args(["--seed", SEED, "--checks", CHECKS, "--request-timeout", REQUEST_TIMEOUT_S]);
    command.args(["--phases", "examples,coverage,fuzzing"]);
    command.args(["--max-examples", &examples.to_string(), "--continue-on-failure", "--no-shrink"]);
    command.args(["--exclude-path-regex", PATHS_LEFT_OUT]);
    for operation in OPERATIONS_LEFT_OUT {
        command.args(["--exclude-operation-id", operation]);
    }
    let output = command.kill_on_drop(true).output().await?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    super::kill::stop(server).await?;
    judge(&text, output.status.success(), &mut verdict)?;
    Ok(verdict)
}

/// A DNS server that knows no name, so that custom domains work and none is ever proven: the edge
/// provider is not asked.
async fn knows_no_name() -> Result<SocketAddr> {
    let socket = UdpSocket::bind("127.0.0.1:0").await?;
    let address = socket.local_addr()?;
    tokio::spawn(async move {
        let mut message = [0; DNS_MESSAGE_MAX];
        while let Ok((size, peer)) = socket.recv_from(&mut message).await {
            // The question itself, as an answer (QR) that there is no such name (RCODE 3).
            if let Some([high, low]) = message.get_mut(2..4) {
                (*high, *low) = (*high | 0x80, 3);
            }
            // Whoever asked may be gone.
            let _ = socket.send_to(&message[..size], peer).await;
        }
    });
    Ok(address)
}

/// Reads what Schemathesis printed: a heading for each operation with failures, a line for each.
fn judge(text: &str, succeeded: bool, verdict: &mut Verdict) -> Result<()> {
    let mut operation = "";
    for line in text.lines() {
        if line.starts_with("___") {
            operation = line.trim_matches(['_', ' ']);
        } else if let Some(failure) = line.strip_prefix("- ") {
            verdict.violations.add(format!("{operation}: {failure}"));
        }
    }
    let below = |title: &str| {
        let mut lines = text.lines().skip_while(|line| !line.starts_with(title));
        lines.nth(1).map(str::trim).map(str::to_owned)
    };
    let cases = below("Test cases:").filter(|_| succeeded || verdict.violations.count() > 0);
    let Some(cases) = cases else {
        let mut last: Vec<_> = text.lines().rev().take(5).collect();
        last.reverse();
        return Err(Failure(format!("Schemathesis did not finish: {}", last.join("; "))));
    };
    let operations = below("API Operations:").unwrap_or_default();
    verdict.saw(format!("operations: {operations}; requests: {cases}"));
    Ok(())
}
