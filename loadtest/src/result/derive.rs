//! From what was recorded to what is written down: percentiles, fairness, figures.

use std::time::Duration;

use hdrhistogram::{Counter, Histogram};

use super::{
    AppShare, Better, Fairness, Figure, Generator, Latency, Loop, Measurement, ServerCost,
    TimelinePoint,
};
use crate::{
    load::{
        Mode, Plan, Recording, Workload,
        recorder::{Lane, Second},
    },
    stats::{jain_index, median, ms, spread},
};

/// The busiest generator thread's share of a CPU above which it may be the limit.
const BUSY_SHARE: f64 = 0.9;
/// Lateness of the generator's own, microseconds at the 99th percentile, above which corrected
/// latencies show the generator as much as the server.
const LATE_US: u64 = 2_000;
/// The share of requests whose answers may come after the phase without a word about it: some are
/// always under way when it ends.
const AFTER_SHARE: f64 = 0.01;
/// Requests that must have been meant for an app before its share says anything.
const REQUESTS_JUDGED_MIN: f64 = 30.0;
/// Apps that are told one by one.
const APPS_TOLD_MAX: usize = 100;
/// Points of a percentile curve.
const CURVE_TICKS_PER_HALF: u32 = 4;

/// A phase as it is written down, but for what it cost the server.
#[must_use]
pub fn measurement(
    case: &str,
    run: usize,
    plan: &Plan,
    recording: &Recording,
    workload: &dyn Workload,
) -> Measurement {
    let recorder = &recording.recorder;
    let seconds = recording.elapsed.as_secs_f64().max(1e-9);
    // Without a window everything counts, until the last answer.
    let counted = match recorder.window {
        Some(window) => window.as_secs_f64().max(1e-9),
        None => seconds.max(recorder.last.as_secs_f64()),
    };
    let is_open = matches!(plan.mode, Mode::Open { .. });
    let lateness = (is_open && !recorder.lateness.is_empty()).then(|| latency(&recorder.lateness));
    let late = lateness.as_ref().is_some_and(|lateness| lateness.p99_us > LATE_US);
    let generator = Generator {
        cpu_s: recording.generator.cpu_s,
        busiest_thread: recording.generator.busiest,
        threads: recording.generator.threads,
        is_limit: recording.generator.busiest > BUSY_SHARE || late,
    };
    Measurement {
        case: case.to_owned(),
        run,
        timing: match plan.mode {
            Mode::Open { rate } => Loop::Open { rate },
            Mode::Closed => Loop::Closed { connections: plan.connections, one_by_one: false },
        },
        duration_s: seconds,
        intended: recorder.intended,
        sent: recorder.sent,
        ok: recorder.ok,
        ok_after: recorder.ok_after,
        dropped: recorder.dropped,
        errors: recorder.errors.clone(),
        throughput: (recorder.ok - recorder.ok_after) as f64 / counted,
        corrected: is_open.then(|| latency(&recorder.corrected)),
        service: latency(&recorder.service),
        lateness,
        generator,
        server: None,
        fairness: (workload.lanes() > 1).then(|| fairness(&recorder.lanes, workload, counted)),
        timeline: recorder.timeline.iter().map(point).collect(),
    }
}

/// The percentiles of a histogram of microseconds.
#[must_use]
pub fn latency(histogram: &Histogram<u64>) -> Latency {
    let at = |quantile| histogram.value_at_quantile(quantile);
    let curve = histogram
        .iter_quantiles(CURVE_TICKS_PER_HALF)
        .map(|step| (step.quantile_iterated_to() * 100.0, step.value_iterated_to()));
    Latency {
        count: histogram.len(),
        mean_us: histogram.mean(),
        min_us: if histogram.is_empty() { 0 } else { histogram.min() },
        p50_us: at(0.5),
        p90_us: at(0.9),
        p99_us: at(0.99),
        p99_9_us: at(0.999),
        p99_99_us: at(0.9999),
        max_us: histogram.max(),
        curve: curve.collect(),
    }
}

fn quantile_of<C: Counter>(histogram: Option<&Histogram<C>>, quantile: f64) -> Option<u64> {
    histogram.map(|histogram| histogram.value_at_quantile(quantile))
}

fn point(second: &Second) -> TimelinePoint {
    TimelinePoint {
        ok: second.ok,
        errors: second.errors,
        dropped: second.dropped,
        p50_us: quantile_of(second.latency.as_ref(), 0.5).unwrap_or_default(),
        p99_us: quantile_of(second.latency.as_ref(), 0.99).unwrap_or_default(),
    }
}

fn fairness(lanes: &[Lane], workload: &dyn Workload, seconds: f64) -> Fairness {
    let sent: u64 = lanes.iter().map(|lane| lane.sent).sum();
    let meant: Vec<f64> = (0..lanes.len()).map(|lane| workload.share(lane) * sent as f64).collect();
    // Of an app that a handful of requests went to, chance says more than the service.
    let judged = lanes.iter().zip(&meant).filter(|(_, meant)| **meant >= REQUESTS_JUDGED_MIN);
    let shares: Vec<f64> = judged.map(|(lane, meant)| lane.ok as f64 / meant).collect();
    let throughput = |lane: &Lane| (lane.ok - lane.ok_after) as f64 / seconds;
    let rates: Vec<f64> = lanes.iter().map(throughput).collect();
    let p99s: Vec<f64> = lanes
        .iter()
        .filter_map(|lane| quantile_of(lane.latency.as_ref(), 0.99))
        .map(|us| us as f64)
        .collect();
    let by_app = lanes.iter().take(APPS_TOLD_MAX).map(|lane| AppShare {
        throughput: throughput(lane),
        p99_us: quantile_of(lane.latency.as_ref(), 0.99),
    });
    Fairness {
        apps: lanes.len(),
        apps_judged: shares.len(),
        jain: jain_index(&shares),
        throughput: three(&rates).unwrap_or_default(),
        p99_us: three(&p99s),
        by_app: by_app.collect(),
    }
}

fn three(values: &[f64]) -> Option<[f64; 3]> {
    let (low, high) = spread(values)?;
    Some([low, median(values)?, high])
}

/// What a server process cost between two looks at it.
#[must_use]
pub fn server_cost(
    before: Option<Duration>,
    after: Option<Duration>,
    resident: Option<u64>,
) -> Option<ServerCost> {
    let cpu_s = after?.saturating_sub(before?).as_secs_f64();
    Some(ServerCost { cpu_s, resident_bytes: resident? })
}

/// The figures of all measured phases: throughput of closed loops, corrected latency of open ones,
/// service times of what was sent one by one.
#[must_use]
pub fn figures(measurements: &[Measurement]) -> Vec<Figure> {
    let mut figures: Vec<Figure> = Vec::new();
    let mut add = |name: String, unit: &str, better: Better, value: f64| match figures
        .iter_mut()
        .find(|figure| figure.name == name)
    {
        Some(figure) => figure.values.push(value),
        None => figures.push(Figure { name, unit: unit.to_owned(), better, values: vec![value] }),
    };
    for measurement in measurements {
        let case = &measurement.case;
        match (&measurement.corrected, &measurement.timing) {
            (None, Loop::Closed { one_by_one: true, .. }) => {
                let service = &measurement.service;
                add(format!("{case}: p50"), "ms", Better::Lower, ms(service.p50_us));
                add(format!("{case}: p99"), "ms", Better::Lower, ms(service.p99_us));
            }
            (None, _) => {
                add(format!("{case}: throughput"), "1/s", Better::Higher, measurement.throughput)
            }
            (Some(corrected), _) => {
                add(format!("{case}: p50"), "ms", Better::Lower, ms(corrected.p50_us));
                add(format!("{case}: p99"), "ms", Better::Lower, ms(corrected.p99_us));
                add(format!("{case}: p99.9"), "ms", Better::Lower, ms(corrected.p99_9_us));
            }
        }
        add(
            format!("{case}: failed or dropped"),
            "share",
            Better::Lower,
            measurement.error_share(),
        );
        if let Some(jain) = measurement.fairness.as_ref().and_then(|fairness| fairness.jain) {
            add(format!("{case}: fairness (Jain)"), "index", Better::Higher, jain);
        }
    }
    figures
}

/// What a reader must know about a phase, but for refusals that it was meant to provoke.
#[must_use]
pub fn warnings(measurement: &Measurement, meant_refusal: Option<&str>) -> Vec<String> {
    let name = format!("{} run {}", measurement.case, measurement.run);
    let mut warnings = Vec::new();
    let generator = &measurement.generator;
    if generator.busiest_thread > BUSY_SHARE {
        warnings.push(format!(
            "{name}: the generator may be the limit: its busiest thread used {:.0}% of a CPU; give it more --threads or a machine of its own",
            generator.busiest_thread * 100.0
        ));
    }
    if let Some(late) = measurement.lateness.as_ref().filter(|late| late.p99_us > LATE_US) {
        warnings.push(format!(
            "{name}: the generator itself was late (p99 {:.1} ms): the corrected latencies hold that too",
            ms(late.p99_us)
        ));
    }
    if measurement.dropped > 0 {
        warnings.push(format!(
            "{name}: {} of {} requests were dropped because too many waited for a connection: the latencies are those of the rest",
            measurement.dropped, measurement.intended
        ));
    }
    if measurement.ok_after as f64 > AFTER_SHARE * measurement.intended as f64 {
        warnings.push(format!(
            "{name}: {} of {} answers came after the phase was over: the throughput is that of the others",
            measurement.ok_after, measurement.ok
        ));
    }
    let unmeant =
        || measurement.errors.iter().filter(|(code, _)| Some(code.as_str()) != meant_refusal);
    let failed: u64 = unmeant().map(|(_, count)| count).sum();
    if failed > 0 {
        let codes: Vec<String> = unmeant().map(|(code, count)| format!("{code} {count}")).collect();
        warnings.push(format!("{name}: {failed} requests failed: {}", codes.join(", ")));
    }
    warnings
}
