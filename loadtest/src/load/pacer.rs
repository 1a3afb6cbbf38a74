//! Waking a connection when its request is due. tokio's timer counts milliseconds, and at 5,000
//! requests a second that would be five requests late; Linux' timerfd counts nanoseconds and wakes
//! the same epoll that the sockets are on.

use std::{cell::RefCell, collections::VecDeque, io, rc::Rc, time::Instant};

#[cfg(not(target_os = "linux"))]
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

/// Wakes connections of one thread, in the order of their times.
#[derive(Default)]
pub(crate) struct Pacer {
    waiting: RefCell<VecDeque<(Instant, oneshot::Sender<()>)>>,
    arrived: Notify,
}

impl Pacer {
    /// Returns at `due`. Calls must come in the order of their times, as a schedule hands them out.
    pub(crate) async fn until(&self, due: Instant) {
        let (wake, woken) = oneshot::channel();
        self.waiting.borrow_mut().push_back((due, wake));
        self.arrived.notify_one();
        // The sender lives as long as the thread's work.
        let _ = woken.await;
    }

    /// Runs the pacer; it never ends by itself.
    pub(crate) async fn run(self: Rc<Self>) -> io::Result<()> {
        let timer = Timer::new()?;
        loop {
            let due = self.waiting.borrow().front().map(|(due, _)| *due);
            let Some(due) = due else {
                self.arrived.notified().await;
                continue;
            };
            let now = Instant::now();
            if due > now {
                timer.sleep(due - now).await?;
            }
            self.wake(Instant::now());
        }
    }

    fn wake(&self, now: Instant) {
        let mut waiting = self.waiting.borrow_mut();
        while waiting.front().is_some_and(|(due, _)| *due <= now) {
            if let Some((_, wake)) = waiting.pop_front() {
                // Who does not wait any more was cancelled.
                let _ = wake.send(());
            }
        }
    }
}

#[cfg(target_os = "linux")]
mod precise {
    use std::{
        io,
        os::fd::{AsFd as _, AsRawFd, RawFd},
        time::Duration,
    };

    use nix::sys::{
        time::TimeSpec,
        timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags},
    };
    use tokio::io::{Interest, unix::AsyncFd};

    struct Fd(TimerFd);

    impl AsRawFd for Fd {
        fn as_raw_fd(&self) -> RawFd {
            self.0.as_fd().as_raw_fd()
        }
    }

    pub(super) struct Timer(AsyncFd<Fd>);

    impl Timer {
        // tokio deprecates it for what might hand out a descriptor that it does not own. `Fd` owns
        // its descriptor for as long as it lives, and the replacement is an unsafe function.
        #[allow(deprecated, reason = "sound for an owned descriptor, see above")]
        pub(super) fn new() -> io::Result<Self> {
            let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
            let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
            Ok(Self(AsyncFd::with_interest(Fd(timer), Interest::READABLE)?))
        }

        pub(super) async fn sleep(&self, time: Duration) -> io::Result<()> {
            // Zero would disarm it.
            let time = time.max(Duration::from_nanos(1));
            let once = Expiration::OneShot(TimeSpec::from(time));
            self.0.get_ref().0.set(once, TimerSetTimeFlags::empty())?;
            loop {
                let mut ready = self.0.readable().await?;
                let read = ready.try_io(|fd| fd.get_ref().0.wait().map_err(io::Error::from));
                match read {
                    Ok(done) => return done,
                    Err(_not_yet) => {}
                }
            }
        }
    }
}

#[cfg(target_os = "linux")]
use precise::Timer;

/// Elsewhere tokio's timer has to do; the lateness that the report shows is then up to a
/// millisecond more.
#[cfg(not(target_os = "linux"))]
struct Timer;

#[cfg(not(target_os = "linux"))]
impl Timer {
    fn new() -> io::Result<Self> {
        Ok(Self)
    }

    async fn sleep(&self, time: Duration) -> io::Result<()> {
        tokio::time::sleep(time).await;
        Ok(())
    }
}
