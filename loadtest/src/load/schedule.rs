//! The open loop's timetable: when each request is meant to be sent, whatever the server does.
//!
//! Requests arrive at fixed intervals. One that finds no free connection waits in a bounded queue
//! with its clock running; one that finds the queue full is dropped and counted. The newest is
//! dropped, not the oldest: throwing away who waited longest would hide the very latencies that an
//! open loop is there to show.

use std::{collections::VecDeque, time::Duration};

/// What a free connection does next. Times count from the schedule's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// A request is due, or even late: send it now.
    Due(Duration),
    /// The next request is this connection's; wait until then.
    At(Duration),
    /// No more requests.
    Done,
}

/// A timetable. One thread's share of it: every request whose number leaves the same rest.
#[derive(Debug)]
pub struct Schedule {
    interval_s: f64,
    offset_s: f64,
    end: Duration,
    backlog_max: usize,
    next: u64,
    waiting: VecDeque<Duration>,
    dropped: VecDeque<Duration>,
}

impl Schedule {
    /// `rate` requests a second for `duration`, shared by `threads`, of which this is number
    /// `thread`. At most `backlog_max` requests wait for a connection.
    #[must_use]
    pub fn new(
        rate: f64,
        duration: Duration,
        backlog_max: usize,
        thread: usize,
        threads: usize,
    ) -> Self {
        Self {
            interval_s: threads as f64 / rate,
            offset_s: thread as f64 / rate,
            end: duration,
            backlog_max,
            next: 0,
            waiting: VecDeque::new(),
            dropped: VecDeque::new(),
        }
    }

    /// The intended time of this thread's `index`-th request. A product, not a sum: rounding does
    /// not add up.
    fn intended(&self, index: u64) -> Duration {
        Duration::from_secs_f64(self.offset_s + index as f64 * self.interval_s)
    }

    /// What arrived until `now`: into the queue while it has room.
    fn arrive(&mut self, now: Duration) {
        loop {
            let intended = self.intended(self.next);
            if intended > now || intended >= self.end {
                return;
            }
            self.next += 1;
            if self.waiting.len() < self.backlog_max {
                self.waiting.push_back(intended);
            } else {
                self.dropped.push_back(intended);
            }
        }
    }

    /// A connection is free at `now` and takes the next request.
    pub fn take(&mut self, now: Duration) -> Take {
        self.arrive(now);
        if let Some(intended) = self.waiting.pop_front() {
            return Take::Due(intended);
        }
        let intended = self.intended(self.next);
        if intended >= self.end {
            return Take::Done;
        }
        self.next += 1;
        Take::At(intended)
    }

    /// The intended time of a request that was dropped and not yet told; none if there is none.
    pub fn next_dropped(&mut self) -> Option<Duration> {
        self.dropped.pop_front()
    }
}
