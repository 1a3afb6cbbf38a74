//! A connection below HTTP, for requests that no client would send.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

/// A TCP connection to a server.
pub struct RawConnection(TcpStream);

impl RawConnection {
    pub async fn open(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.expect("the server accepts"))
    }

    /// Sends these bytes.
    pub async fn send(&mut self, bytes: &str) {
        self.0.write_all(bytes.as_bytes()).await.expect("the server reads");
    }

    /// Reads until the server has sent `end`.
    pub async fn read_until(&mut self, end: &str) {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            text.push(self.0.read_u8().await.expect("the server sends more"));
        }
    }

    /// Everything the server sends until it closes.
    pub async fn read_to_end(mut self) -> String {
        let mut bytes = Vec::new();
        // A reset is a way to close, too.
        let _ = self.0.read_to_end(&mut bytes).await;
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
