//! One generator thread: its runtime, its connections, its share of the plan.

use std::{
    cell::RefCell,
    rc::Rc,
    time::{Duration, Instant},
};

use futures::future::{join_all, try_join_all};
use tokio::{
    runtime::{Builder, Runtime},
    task::LocalSet,
};

use super::{
    GeneratorUse, Mode, Plan, Recorder, Recording, Shared,
    pacer::Pacer,
    schedule::Schedule,
    worker::{Work, Worker},
};
use crate::{
    client::{ClientError, Connection},
    machine,
};

/// Connections opened at a time: a burst beyond the server's accept queue would be retried by the
/// kernel a second later.
const OPENING_MAX: usize = 64;

/// What one thread saw and cost.
pub(super) struct Outcome {
    recorder: Recorder,
    cpu: Duration,
    wall: Duration,
    busiest: f64,
    threads: usize,
}

impl Outcome {
    pub(super) fn merge(&mut self, other: &Self) {
        self.recorder.merge(&other.recorder);
        self.cpu += other.cpu;
        self.wall = self.wall.max(other.wall);
        self.busiest = self.busiest.max(other.busiest);
        self.threads += other.threads;
    }

    pub(super) fn into_recording(self, plan: &Plan) -> Recording {
        let elapsed = match (plan.mode, plan.requests_max) {
            // A phase that ended by its requests lasted until the last answer.
            (_, Some(_)) => self.recorder.last,
            // As one did in which a connection's first answer came after its end.
            (Mode::Closed, None) => plan.duration.max(self.recorder.last),
            (Mode::Open { .. }, None) => plan.duration,
        };
        let generator = GeneratorUse {
            cpu_s: self.cpu.as_secs_f64(),
            busiest: self.busiest,
            threads: self.threads,
        };
        Recording { recorder: self.recorder, elapsed, generator }
    }
}

/// Runs this thread's share. The error is none if another thread's is the cause.
pub(super) fn run(
    shared: &Shared,
    number: usize,
    threads: usize,
) -> Result<Outcome, Option<ClientError>> {
    let prepared = prepare(shared, number, threads);
    let start = shared.meet(prepared.is_ok());
    let (runtime, connections) = prepared.map_err(Some)?;
    let start = start.ok_or(None)?;
    let plan = &shared.plan;
    let schedule = match plan.mode {
        Mode::Open { rate } => {
            let whole = plan.warmup + plan.duration;
            let backlog = (plan.backlog_max / threads).max(1);
            Some(RefCell::new(Schedule::new(rate, whole, backlog, number, threads)))
        }
        Mode::Closed => None,
    };
    let recorder = Recorder::new(shared.workload.lanes(), schedule.is_some());
    // In a closed loop no answer counts that comes later, but for a connection's first.
    let recorder = if schedule.is_some() { recorder.within(plan.duration) } else { recorder };
    let work = Rc::new(Work {
        recorder: RefCell::new(recorder),
        pacer: Rc::new(Pacer::default()),
        schedule,
        start,
        warmup: if plan.requests_max.is_some() { Duration::ZERO } else { plan.warmup },
    });
    let cpu = machine::thread_cpu();
    let result =
        runtime.block_on(LocalSet::new().run_until(drive(shared, &work, connections, number)));
    result.map_err(Some)?;
    let cpu = machine::thread_cpu().saturating_sub(cpu);
    let wall = start.elapsed();
    let busiest = cpu.as_secs_f64() / wall.as_secs_f64().max(1e-9);
    let recorder = work.recorder.replace(Recorder::new(0, false));
    Ok(Outcome { recorder, cpu, wall, busiest, threads: 1 })
}

fn prepare(
    shared: &Shared,
    number: usize,
    threads: usize,
) -> Result<(Runtime, Vec<Connection>), ClientError> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let plan = &shared.plan;
    let count = plan.connections / threads + usize::from(number < plan.connections % threads);
    let connections = runtime.block_on(async {
        let mut opened = Vec::with_capacity(count);
        while opened.len() < count {
            let some = OPENING_MAX.min(count - opened.len());
            opened.extend(try_join_all((0..some).map(|_| shared.endpoint.connect())).await?);
        }
        Ok::<_, ClientError>(opened)
    })?;
    Ok((runtime, connections))
}

async fn drive(
    shared: &Shared,
    work: &Rc<Work>,
    connections: Vec<Connection>,
    number: usize,
) -> Result<(), ClientError> {
    tokio::time::sleep_until(work.start.into()).await;
    let workers = connections.into_iter().enumerate().map(|(index, connection)| {
        let seed = shared.plan.seed ^ ((number as u64) << 40) ^ ((index as u64 + 1) << 16);
        Worker::new(shared, work, connection, seed).run()
    });
    let mut all = std::pin::pin!(join_all(workers));
    let mut pacer = std::pin::pin!(Rc::clone(&work.pacer).run());
    tokio::select! {
        _ = &mut all => Ok(()),
        ended = &mut pacer => ended.map_err(ClientError::Io),
        () = shared.cancel.cancelled() => Ok(()),
    }
}

impl Work {
    /// Time since what is measured began; zero during the warm-up.
    pub(super) fn measured(&self, at: Instant) -> Duration {
        at.saturating_duration_since(self.start).saturating_sub(self.warmup)
    }
}
