//! Crowds of connections, each kind in a client process of its own: what a crowd costs its own side
//! is then not felt by those who are measured.
//!
//! [`members`] is what such a process does.

pub mod members;

use std::{process::Stdio, time::Duration};

use clap::ValueEnum;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::{
    api::Api,
    failure::{Failure, Result},
    world::World,
};

/// What the members of a crowd do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// Nothing.
    Idle,
    /// They send a byte of a head each second.
    Senders,
    /// They send a request again and again, and read no answer.
    Readers,
    /// They send a long-poll and read its answer.
    Polls,
}

/// A crowd that is there. It leaves when this is dropped.
#[derive(Debug)]
pub struct Crowd {
    /// It is killed when this is dropped.
    _child: Child,
    out: Lines<BufReader<ChildStdout>>,
}

/// How a crowd ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended {
    /// Members that the server closed; of polls, those that got an event.
    pub count: usize,
    /// When the last of them did: since it was opened; of polls since 1970.
    pub latest: Duration,
}

impl Crowd {
    /// Brings `count` members of a kind to the server. It returns when each is connected, and sent
    /// `request` if its kind sends one.
    ///
    /// # Errors
    /// When they cannot connect.
    pub async fn come(
        world: &World,
        api: &Api,
        kind: Kind,
        count: usize,
        request: &str,
    ) -> Result<Self> {
        let kind = kind.to_possible_value().ok_or_else(|| Failure::new("a kind without a name"))?;
        let mut child = Command::new(&world.campaigns)
            .args([members::NAME, kind.get_name(), &count.to_string(), &api.url])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut input = child.stdin.take().ok_or_else(|| Failure::new("no standard input"))?;
        input.write_all(request.as_bytes()).await?;
        // Its end is the end of the request.
        drop(input);
        let out = child.stdout.take().ok_or_else(|| Failure::new("no standard output"))?;
        let mut out = BufReader::new(out).lines();
        if out.next_line().await?.as_deref() != Some(members::OPENED) {
            return Err(Failure(format!("{count} connections could not be opened")));
        }
        Ok(Self { _child: child, out })
    }

    /// Waits until all of it was closed or answered, or has lost its patience.
    ///
    /// # Errors
    /// When its process ended before.
    pub async fn ended(mut self) -> Result<Ended> {
        let line = self.out.next_line().await?.unwrap_or_default();
        let mut words = line.split(' ').filter_map(|word| word.parse::<u64>().ok());
        let (Some(count), Some(micros)) = (words.next(), words.next()) else {
            return Err(Failure::new("a crowd that did not tell how it ended"));
        };
        let count = usize::try_from(count).map_err(|_| Failure::new("a count"))?;
        Ok(Ended { count, latest: Duration::from_micros(micros) })
    }
}
