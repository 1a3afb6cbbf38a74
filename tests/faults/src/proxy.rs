//! Stands between a server and PostgreSQL, and cuts answers off: a statement is carried out, and
//! whoever sent it never hears so.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{UnixListener, UnixStream},
    task::JoinHandle,
};

use crate::failure::{Failure, Result};

/// The name of PostgreSQL's socket in its folder.
const SOCKET: &str = ".s.PGSQL.5432";
/// Bytes that are carried at once.
const CHUNK_BYTES: usize = 16 << 10;

/// A running proxy.
#[derive(Debug)]
pub struct Proxy {
    /// The database's address through it.
    pub url: String,
    cuts: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Puts a proxy in `folder` in front of the database at `url`, which names a folder of a Unix
    /// socket.
    ///
    /// # Errors
    /// When `url` is another kind of address, or the socket cannot be made.
    pub fn start(folder: &Path, url: &str) -> Result<Self> {
        let parts =
            url.split_once('@').and_then(|(user, rest)| Some((user, rest.rsplit_once('/')?)));
        let (user, (host, database)) =
            parts.ok_or_else(|| Failure::new("an address without a socket"))?;
        let target = Path::new(&host.replace("%2F", "/")).join(SOCKET);
        let listener = UnixListener::bind(folder.join(SOCKET))?;
        let here = folder.display().to_string().replace('/', "%2F");
        let cuts = Arc::new(AtomicUsize::new(0));
        let armed = Arc::clone(&cuts);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                // While the server is being restarted nobody answers; the client hears that.
                let Ok(server) = UnixStream::connect(&target).await else { continue };
                tokio::spawn(carry(client, server, Arc::clone(&armed)));
            }
        });
        Ok(Self { url: format!("{user}@{here}/{database}"), cuts, task })
    }

    /// Cuts off the answers to the next `count` messages.
    pub fn cut(&self, count: usize) {
        self.cuts.store(count, Ordering::Release);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Carries bytes both ways until one side leaves, or an answer is to be cut off.
async fn carry(client: UnixStream, server: UnixStream, cuts: Arc<AtomicUsize>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let is_cut = AtomicBool::new(false);
    let up = async {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let length = from_client.read(&mut chunk).await.unwrap_or(0);
            let claimed =
                cuts.fetch_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
            if length > 0 && claimed.is_ok() {
                is_cut.store(true, Ordering::Release);
            }
            if length == 0 || to_server.write_all(&chunk[..length]).await.is_err() {
                return;
            }
        }
    };
    let down = async {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let length = from_server.read(&mut chunk).await.unwrap_or(0);
            // The statement was carried out; its answer ends here.
            let ends = length == 0 || is_cut.load(Ordering::Acquire);
            if ends || to_client.write_all(&chunk[..length]).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = up => {}
        () = down => {}
    }
}
