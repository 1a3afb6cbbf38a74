//! A connection below HTTP, for requests that no client would send.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
};

/// A TCP connection to a server.
pub struct RawConnection(TcpStream);

impl RawConnection {
    pub async fn open(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.expect("the server accepts"))
    }

    /// One that takes a few KiB before it reads; a server has to wait with the rest.
    pub async fn open_small(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4_096).expect("a small buffer");
        Self(socket.connect(address).await.expect("the server accepts"))
    }

    /// Sends these bytes.
    pub async fn send(&mut self, bytes: &str) {
        self.0.write_all(bytes.as_bytes()).await.expect("the server reads");
    }

    /// Closes the half that sends; answers still come.
    pub async fn close_half(&mut self) {
        self.0.shutdown().await.expect("the server is there");
    }

    /// Goes away at once: no half of it waits for an answer.
    pub fn reset(self) {
        self.0.set_zero_linger().expect("the system lets go");
    }

    /// Reads until the server has sent `end`; all of it.
    pub async fn read_until(&mut self, end: &str) -> String {
        let mut text = Vec::new();
        while !text.ends_with(end.as_bytes()) {
            text.push(self.0.read_u8().await.expect("the server sends more"));
        }
        String::from_utf8_lossy(&text).into_owned()
    }

    /// Reads at most so many bytes; how many came, 0 when the server has closed.
    pub async fn read_some(&mut self, bytes_max: usize) -> usize {
        // A reset is a way to close, too.
        self.0.read(&mut vec![0; bytes_max]).await.unwrap_or_default()
    }

    /// Everything the server sends until it closes.
    pub async fn read_to_end(mut self) -> String {
        let mut bytes = Vec::new();
        // A reset is a way to close, too.
        let _ = self.0.read_to_end(&mut bytes).await;
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
