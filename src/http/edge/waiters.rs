//! Open polls: each holds a connection and a little memory while it waits, so one client network may
//! have only so many, and all together leave connections to everybody else.

use std::{
    collections::{HashMap, hash_map::Entry},
    net::IpAddr,
    sync::Arc,
};

use parking_lot::Mutex;
use rookery_domain::{Error, ErrorCode, network::Network};

use crate::error::ApiError;

/// The part of all connections that polls leave to others.
const LEFT_PART: usize = 4;

/// The open polls of a server.
#[derive(Debug)]
pub struct Waiters {
    of_network_max: usize,
    max: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    count: usize,
    /// Only networks that have one; at most one entry for each open connection.
    by_network: HashMap<Network, usize>,
}

impl Waiters {
    /// Lets every client network have `of_network_max` open polls, and all together three of four of the
    /// `connections_max` connections.
    #[must_use]
    pub fn new(of_network_max: usize, connections_max: usize) -> Arc<Self> {
        let max = (connections_max - connections_max / LEFT_PART).max(1);
        Arc::new(Self { of_network_max, max, open: Mutex::default() })
    }

    /// Counts a poll of `address` for as long as the returned guard lives.
    ///
    /// # Errors
    /// `rate_limited`, when it has too many already; `unavailable`, when all together have.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Result<Waiting, ApiError> {
        let network = Network::from(address);
        let mut open = self.open.lock();
        let of_network = open.by_network.get(&network).copied().unwrap_or_default();
        if of_network >= self.of_network_max {
            let max = self.of_network_max;
            let message = format!("this address has {max} open feed requests already");
            return Err(Error::new(ErrorCode::RateLimited, message).into());
        }
        if open.count >= self.max {
            let message = "the service has as many open feed requests as it can hold";
            return Err(Error::unavailable(message).into());
        }
        open.count += 1;
        open.by_network.insert(network, of_network + 1);
        Ok(Waiting { waiters: Arc::clone(self), network })
    }

    /// All open polls now.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open.lock().count
    }
}

/// One open poll.
#[derive(Debug)]
pub struct Waiting {
    waiters: Arc<Waiters>,
    network: Network,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut open = self.waiters.open.lock();
        open.count -= 1;
        if let Entry::Occupied(mut of_network) = open.by_network.entry(self.network) {
            *of_network.get_mut() -= 1;
            if *of_network.get() == 0 {
                of_network.remove();
            }
        }
    }
}
