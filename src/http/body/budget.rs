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

/// How much all bodies may hold together. Visitors of apps, who may be anybody, have half of it at most,
/// and one client network half of what its senders have.
#[derive(Debug)]
pub struct BodyBudget {
    max: usize,
    held: Mutex<Held>,
}

/// Whose body it is, as far as the address tells that it is sent to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BodySender {
    /// Whoever calls the service's own origin: agents, credentials and people.
    Service,
    /// Whoever calls an app's origin.
    Visitor,
}

#[derive(Debug, Default)]
struct Held {
    bytes: usize,
    /// Those of visitors among them.
    of_visitors: usize,
    /// Only networks that hold some.
    by_network: HashMap<(BodySender, Network), usize>,
}

impl BodyBudget {
    /// Lets all bodies hold `max` bytes.
    #[must_use]
    pub fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, held: Mutex::default() })
    }

    /// The share of a body that `sender` sends from `address`, empty so far.
    #[must_use]
    pub fn share(self: &Arc<Self>, sender: BodySender, address: IpAddr) -> BodyShare {
        let network = Network::from(address);
        BodyShare { budget: Arc::clone(self), sender, network, bytes: 0, counted: 0 }
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
    sender: BodySender,
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
    /// networks together do, or all visitors.
    pub fn grow(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        let more = self.bytes.saturating_sub(FREE_BYTES) - self.counted;
        if more == 0 {
            return Ok(());
        }
        let max = self.budget.max;
        let is_visitor = self.sender == BodySender::Visitor;
        let of_senders = if is_visitor { max / 2 } else { max };
        let mut held = self.budget.held.lock();
        let of_network = held.by_network.get(&self.key()).copied().unwrap_or_default();
        // One body alone is bounded by itself, also where the settings leave visitors little.
        let is_alone = is_visitor && of_network == self.counted;
        if !is_alone && of_network + more > of_senders / 2 {
            let message = "this address sends too many bytes of request bodies at once";
            return Err(Error::new(ErrorCode::RateLimited, message));
        }
        let is_full = held.bytes + more > max;
        if is_full || is_visitor && held.of_visitors + more > of_senders {
            let message = "the service receives as many bytes of request bodies as it can hold";
            return Err(Error::unavailable(message));
        }
        held.bytes += more;
        if is_visitor {
            held.of_visitors += more;
        }
        held.by_network.insert(self.key(), of_network + more);
        self.counted += more;
        Ok(())
    }

    const fn key(&self) -> (BodySender, Network) {
        (self.sender, self.network)
    }
}

impl Drop for BodyShare {
    fn drop(&mut self) {
        if self.counted == 0 {
            return;
        }
        let mut held = self.budget.held.lock();
        held.bytes -= self.counted;
        if self.sender == BodySender::Visitor {
            held.of_visitors -= self.counted;
        }
        if let Entry::Occupied(mut of_network) = held.by_network.entry(self.key()) {
            *of_network.get_mut() -= self.counted;
            if *of_network.get() == 0 {
                of_network.remove();
            }
        }
    }
}
