//! Speaking the Chrome DevTools Protocol through a pair of pipes: JSON messages, each ended by a
//! zero byte. Nothing listens on a port, so nobody else can speak to the browser.

use std::io;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Take},
    process::{ChildStdin, ChildStdout},
};

/// Bytes that the browser may say in all for one picture.
const SAID_BYTES_MAX: u64 = 64 << 20;

/// The browser's ear and mouth.
pub(super) struct Devtools {
    ear: ChildStdin,
    mouth: BufReader<Take<ChildStdout>>,
    /// What was heard of the next message.
    heard: Vec<u8>,
    sent: u64,
}

impl Devtools {
    pub(super) fn new(ear: ChildStdin, mouth: ChildStdout) -> Self {
        let mouth = BufReader::new(mouth.take(SAID_BYTES_MAX));
        Self { ear, mouth, heard: Vec::new(), sent: 0 }
    }

    /// Sends a command, to the page of `session` or to the browser; answers its number.
    pub(super) async fn send(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> io::Result<u64> {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.ear.write_all(&bytes).await?;
        self.ear.flush().await?;
        Ok(self.sent)
    }

    /// The next message. Nothing is lost when the wait for it is given up.
    pub(super) async fn next(&mut self) -> io::Result<Value> {
        self.mouth.read_until(0, &mut self.heard).await?;
        if self.heard.pop() != Some(0) {
            return Err(io::Error::other("the browser said no more"));
        }
        let message = serde_json::from_slice(&self.heard);
        self.heard.clear();
        message.map_err(|_| io::Error::other("the browser said no JSON"))
    }

    /// Sends a command and waits for its result; events that come meanwhile are let go.
    pub(super) async fn call(
        &mut self,
        session: Option<&str>,
        method: &str,
        params: Value,
    ) -> io::Result<Value> {
        let id = self.send(session, method, params).await?;
        loop {
            let mut message = self.next().await?;
            if message["id"] == id {
                if let Some(error) = message.get("error") {
                    let why = error["message"].as_str().unwrap_or_default();
                    return Err(io::Error::other(format!("the browser refuses {method}: {why}")));
                }
                return Ok(message["result"].take());
            }
        }
    }
}
