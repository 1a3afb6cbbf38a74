//! Bytes of request bodies that the server holds at once: while they arrive, and of a deploy until
//! it has ended. What an app's queue holds of them later is counted by the actors.

use std::{
    collections::{HashMap, hash_map::Entry},
    net::IpAddr,
    sync::Arc,
};

use parking_lot::Mutex;
use rookery_domain::{Error, ErrorCode, Result, network::Network};

/// Bytes of a body that are not counted: `server.connections_max` bounds what they come to.
const FREE_BYTES: usize = 16 << 10;

/// How much all bodies may hold together; one client network may hold half of that.
#[derive(Debug)]
pub struct BodyBudget {
    max: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    /// Only networks that hold some.
    by_network: HashMap<Network, usize>,
}

impl BodyBudget {
    /// Lets all bodies hold `max` bytes.
    #[must_use]
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, held: Mutex::default() })
    }

    /// The share of a body that comes from `address`, empty so far.
    #[must_use]
    pub fn share(self: &Arc<Self>, address: IpAddr) -> BodyShare {
        let network = Network::from(address);
        BodyShare { budget: Arc::clone(self), network, bytes: 0, counted: 0 }
    }

    /// Bytes that are counted now.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.lock().bytes
    }
}

/// What one body holds of the budget, until it is dropped.
#[derive(Debug)]
pub struct BodyShare {
    budget: Arc<BodyBudget>,
    network: Network,
    bytes: usize,
    counted: usize,
}

impl BodyShare {
    /// The client network that sends the body.
    #[must_use]
    pub const fn network(&self) -> Network {
        self.network
    }

    /// Counts `bytes` more.
    ///
    /// # Errors
    /// `rate_limited` when the client's network holds too much already, `unavailable` when all
    /// networks together do.
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        let more = self.bytes.saturating_sub(FREE_BYTES) - self.counted;
        if more == 0 {
            return Ok(());
        }
        let max = self.budget.max;
        let mut held = self.budget.held.lock();
        let of_network = held.by_network.get(&self.network).copied().unwrap_or_default();
        if of_network + more > max / 2 {
            let message = "this address sends too many bytes of request bodies at once";
            return Err(Error::new(ErrorCode::RateLimited, message));
        }
        if held.bytes + more > max {
            let message = "the service receives as many bytes of request bodies as it can hold";
            return Err(Error::unavailable(message));
        }
        held.bytes += more;
        held.by_network.insert(self.network, of_network + more);
        self.counted += more;
        Ok(())
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        if self.counted == 0 {
            return;
        }
        let mut held = self.budget.held.lock();
        held.bytes -= self.counted;
        if let Entry::Occupied(mut of_network) = held.by_network.entry(self.network) {
            *of_network.get_mut() -= self.counted;
            if *of_network.get() == 0 {
                of_network.remove();
            }
        }
    }
}
