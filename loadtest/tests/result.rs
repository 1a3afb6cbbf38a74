//! The result's format: what is written is read again, and figures come from what was measured.

use std::time::Duration;

use rookery_load::{
    load::{
        GeneratorUse, Mode, Plan, Recorder, Recording, Workload,
        recorder::Sample,
        traffic::{Constant, Traffic},
    },
    machine::Machine,
    result::{
        Better, FORMAT, Figure, Loop, Measurement, ResultFile, Search, Series,
        derive::{self, figures, measurement},
        hgrm::to_hgrm,
    },
    stats::{Bound, Step},
};

pub(crate) fn plan(mode: Mode) -> Plan {
    Plan {
        mode,
        connections: 64,
        threads: 1,
        warmup: Duration::ZERO,
        duration: Duration::from_secs(1),
        requests_max: None,
        backlog_max: 16,
        timeout: Duration::from_secs(1),
        seed: 1,
    }
}

pub(crate) fn one() -> impl Workload {
    Constant { request: Vec::new() }
}

/// A phase of a thousand answers that took 1 to 1,000 ms, sent half a second late.
pub(crate) fn recording(is_open: bool) -> Recording {
    let mut recorder = Recorder::new(1, is_open);
    for n in 1..=1000 {
        let (intended, sent) = (Duration::ZERO, Duration::from_millis(500));
        let done = sent + Duration::from_millis(n);
        recorder.record(Sample { lane: 0, intended, sent, done, error: None });
    }
    let generator = GeneratorUse { cpu_s: 0.5, busiest: 0.5, threads: 1 };
    Recording { recorder, elapsed: Duration::from_secs(1), generator }
}

pub(crate) fn measured(mode: Mode) -> Measurement {
    let is_open = matches!(mode, Mode::Open { .. });
    measurement("hot-app/update", 1, &plan(mode), &recording(is_open), &one())
}

/// A result with one of everything.
pub(crate) fn result() -> ResultFile {
    let open = measured(Mode::Open { rate: 1000.0 });
    let bound = Bound { p99_us: 50_000, errors: 0.001 };
    let broke = Some("p99 <80> ms".to_owned());
    let step = Step { rate: 1000.0, p99_us: 80_000, errors: 0.0, throughput: 990.0, broke };
    ResultFile {
        format: FORMAT,
        tool: "rookery-load 0.0.0".to_owned(),
        created_at: "2026-01-02T03:04:05Z".to_owned(),
        command: "hot-app".to_owned(),
        options: "{ op: Update }".to_owned(),
        machine: Machine {
            cpus: 2,
            cpu: "A <CPU> & more".to_owned(),
            memory_bytes: 1 << 33,
            system: "linux 6".to_owned(),
        },
        spawned: true,
        interrupted: false,
        figures: figures(std::slice::from_ref(&open)),
        measurements: vec![open, measured(Mode::Closed)],
        searches: vec![Search { case: "hot".to_owned(), bound, steps: vec![step], knee: None }],
        series: vec![Series {
            name: "Memory".to_owned(),
            x: "live apps".to_owned(),
            y: "bytes".to_owned(),
            is_x_logarithmic: true,
            points: vec![(1.0, 10.0), (10.0, 12.5)],
        }],
        warnings: vec!["<careful>".to_owned()],
    }
}

#[test]
fn a_result_is_read_as_it_was_written() {
    let result = result();
    let text = result.to_json();
    assert_eq!(ResultFile::parse(&text).expect("it is well formed"), result);
    assert!(text.starts_with("{\n  \"format\": 1,"), "{}", &text[..40]);
}

#[test]
fn another_format_is_refused_by_its_number() {
    let newer = result().to_json().replacen("\"format\": 1", "\"format\": 2", 1);
    assert_eq!(ResultFile::parse(&newer).unwrap_err(), "format 2, and this tool reads 1");
    assert!(ResultFile::parse("{}").is_err());
}

#[test]
fn corrected_latency_counts_from_the_intended_time_and_a_closed_loop_has_none() {
    let open = measured(Mode::Open { rate: 1000.0 });
    let corrected = open.corrected.expect("an open loop");
    assert!((499_000..=501_500).contains(&(corrected.p50_us - open.service.p50_us)));
    assert!((990_000..=992_000).contains(&open.service.p99_us));
    assert_eq!((open.intended, open.ok, open.dropped), (1000, 1000, 0));
    let closed = measured(Mode::Closed);
    assert_eq!(closed.corrected, None);
    assert!(closed.timing.label().contains("not for latency"));
    // Figures of a closed loop hold no latency.
    let figures = figures(&[closed]);
    assert!(figures.iter().all(|figure| figure.unit != "ms"), "{figures:?}");
}

#[test]
fn what_is_sent_one_by_one_has_service_times_for_its_figures() {
    let case = "wake/9-rows".to_owned();
    let found = Measurement { case, timing: Loop::ONE_BY_ONE, ..measured(Mode::Closed) };
    assert_eq!(found.timing.label(), "one request after the other, service times");
    let named = figures(std::slice::from_ref(&found));
    let named: Vec<_> = named.iter().map(|figure| (&*figure.name, &*figure.unit)).collect();
    let expected = [("wake/9-rows: p50", "ms"), ("wake/9-rows: p99", "ms")];
    assert_eq!(named[..2], expected);
    assert_eq!(named.len(), 3, "and what failed: {named:?}");
    let one_connection = Loop::Closed { connections: 1, one_by_one: false }.label();
    assert_eq!(one_connection, "closed loop, 1 connection, not for latency");
    // A result of before there was the word is read as what it was.
    let before = r#"{"kind": "closed", "connections": 1}"#;
    let before: Loop = serde_json::from_str(before).expect("a loop");
    assert_eq!(before, Loop::Closed { connections: 1, one_by_one: false });
}

#[test]
fn runs_of_a_case_become_the_values_of_its_figures() {
    let runs = [measured(Mode::Closed), measured(Mode::Closed)];
    let figures = figures(&runs);
    let throughput = figures.iter().find(|figure| figure.name == "hot-app/update: throughput");
    let Figure { values, better, .. } = throughput.expect("a throughput");
    assert_eq!((values.len(), *better), (2, Better::Higher));
}

/// Two apps, one as popular as the other.
struct Two;

impl Workload for Two {
    fn lanes(&self) -> usize {
        2
    }

    fn worker(&self, seed: u64) -> Box<dyn Traffic> {
        one().worker(seed)
    }
}

#[test]
fn what_each_app_got_adds_up_to_what_all_of_them_got() {
    let plan = plan(Mode::Open { rate: 400.0 });
    // Answers that come after the phase, which lasted a second, count for no throughput: nor do they
    // make the second longer, or a single late one would halve what the others got.
    for (late, inside) in [(1_u64, 399_u32), (300, 100)] {
        let mut recorder = Recorder::new(2, true).within(Duration::from_secs(1));
        for n in 0..400_u64 {
            let (intended, after) = (Duration::ZERO, Duration::from_secs(u64::from(n < late)));
            let done = after + Duration::from_millis(n + 1);
            let lane = n as usize % 2;
            recorder.record(Sample { lane, intended, sent: intended, done, error: None });
        }
        let timed_out = (Duration::from_millis(999), Duration::from_secs(11), Some("timeout"));
        let (sent, done, error) = timed_out;
        recorder.record(Sample { lane: 0, intended: sent, sent, done, error });
        // What two threads saw is what one would have seen.
        let mut other = Recorder::new(2, true).within(Duration::from_secs(1));
        other.merge(&recorder);
        let phase = Recording { recorder: other, ..recording(true) };
        let found = measurement("many-apps", 1, &plan, &phase, &Two);
        let warnings = derive::warnings(&found, None);
        let told = warnings.iter().any(|warning| warning.contains("300 of 400 answers came after"));
        assert_eq!(told, late == 300, "{warnings:?}");
        let apps = found.fairness.expect("two apps").by_app;
        let sum: f64 = apps.iter().map(|app| app.throughput).sum();
        assert_eq!((found.throughput, sum), (f64::from(inside), f64::from(inside)));
        assert_eq!((found.ok, found.ok_after), (400, late));
        // In the latencies all of them are.
        assert_eq!(found.corrected.expect("an open loop").count, 401);
    }
}

#[test]
fn without_a_window_answers_count_until_the_last_of_them() {
    let found = measured(Mode::Open { rate: 1000.0 });
    assert!((found.throughput - 1000.0 / 1.5).abs() < 1e-9, "{}", found.throughput);
    assert_eq!(found.ok_after, 0);
}

#[test]
fn a_busy_or_late_generator_and_dropped_requests_are_told() {
    let mut busy = recording(true);
    busy.generator.busiest = 0.97;
    busy.recorder.record_lateness(Duration::from_millis(30));
    busy.recorder.record_dropped(Duration::ZERO);
    let open = plan(Mode::Open { rate: 1000.0 });
    let found = measurement("x", 1, &open, &busy, &one());
    assert!(found.generator.is_limit);
    let warnings = derive::warnings(&found, None);
    for part in ["97% of a CPU", "itself was late", "1 of 1001 requests were dropped"] {
        assert!(warnings.iter().any(|warning| warning.contains(part)), "{part}: {warnings:?}");
    }
    assert!(derive::warnings(&measured(Mode::Closed), None).is_empty());
}

#[test]
fn a_refusal_is_a_warning_unless_it_was_meant() {
    let mut refused = recording(false);
    let at = Duration::ZERO;
    let error = Some("budget");
    refused.recorder.record(Sample { lane: 0, intended: at, sent: at, done: at, error });
    let found = measurement("x", 1, &plan(Mode::Closed), &refused, &one());
    assert_eq!(derive::warnings(&found, None), ["x run 1: 1 requests failed: budget 1"]);
    assert!(derive::warnings(&found, Some("budget")).is_empty());
}

#[test]
fn a_histogram_is_written_as_hdrhistograms_plotter_reads_it() {
    let text = to_hgrm(&recording(false).recorder.service);
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a head").split_whitespace().collect();
    assert_eq!(head, ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]);
    let rows: Vec<Vec<f64>> = lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| line.split_whitespace().map(|cell| cell.parse().expect("a number")).collect())
        .collect();
    assert!(rows.windows(2).all(|two| two[0][0] <= two[1][0] && two[0][2] <= two[1][2]));
    let last = rows.last().expect("rows");
    assert_eq!((last[1], last[2]), (1.0, 1000.0));
    assert!((999.0..1001.0).contains(&last[0]), "milliseconds: {}", last[0]);
    assert!(text.contains("#[Mean    ="));
}
