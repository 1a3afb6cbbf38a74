//! `/metrics`: every counter under its Prometheus name, in base units. No label holds an id.

use rookery_actors::observe::{
    RuntimeTotals,
    counters::{MessageKind, MessageOutcome},
    histogram::{BOUNDS_US, Distribution},
    lifecycle::{CountedState, CrashDecision, StopCause},
};
use rookery_storage::writer::{BATCH_BUCKETS_ROWS, COMMIT_BUCKETS_US, WriterHealth};

use super::{
    exposition::{Exposition, Kind, Labels},
    process,
};
use crate::{
    state::State,
    traces::{SentSpans, Traces},
};

/// The document, as of now.
#[must_use]
pub fn render(state: &State) -> String {
    let mut out = Exposition::default();
    let totals = state.rooms.apps().totals();
    apps(&mut out, state, &totals);
    messages(&mut out, &totals);
    writer(&mut out, &state.rooms.writer.health());
    http(&mut out, state);
    server(&mut out, state);
    out.into_text()
}

fn apps(out: &mut Exposition, state: &State, totals: &RuntimeTotals) {
    let lifecycle = &totals.lifecycle;
    out.family("rookery_apps", Kind::Gauge, "Apps by state.");
    for stage in CountedState::ALL {
        let count = lifecycle.states[stage as usize];
        out.sample("rookery_apps", &[("state", stage.as_str())], count);
    }
    out.sample("rookery_apps", &[("state", "dormant")], state.ops.dormant(lifecycle));
    let name = "rookery_app_starts_total";
    out.single(name, Kind::Counter, "Incarnations of apps started.", lifecycle.started);
    let name = "rookery_app_start_failures_total";
    let help = "Starts of apps that failed.";
    out.single(name, Kind::Counter, help, lifecycle.start_failures);
    let name = "rookery_app_stops_total";
    out.family(name, Kind::Counter, "Incarnations of apps that ended, by cause.");
    for cause in StopCause::ALL {
        out.sample(name, &[("cause", cause.as_str())], lifecycle.stops[cause as usize]);
    }
    let name = "rookery_app_restarts_total";
    let help = "Incarnations that ended although their app was needed, by cause.";
    out.family(name, Kind::Counter, help);
    for cause in [StopCause::Crashed, StopCause::CommitLost, StopCause::Restarted] {
        out.sample(name, &[("cause", cause.as_str())], lifecycle.stops[cause as usize]);
    }
    let name = "rookery_crashes_total";
    out.family(name, Kind::Counter, "Crashes, by what was decided after them.");
    for decision in CrashDecision::ALL {
        let count = lifecycle.crashes[decision as usize];
        out.sample(name, &[("decision", decision.as_str())], count);
    }
    let name = "rookery_app_wake_seconds";
    out.family(name, Kind::Histogram, "Time to bring an app up, waiting for its turn included.");
    distribution(out, name, &[], &lifecycle.wake);
    let name = "rookery_resident_bytes";
    let help = "About how many bytes live apps hold.";
    out.single(name, Kind::Gauge, help, totals.all.resident_bytes);
    let name = "rookery_resident_rows";
    out.single(name, Kind::Gauge, "Rows of live apps.", totals.all.resident_rows);
}

fn messages(out: &mut Exposition, totals: &RuntimeTotals) {
    let name = "rookery_messages_total";
    out.family(name, Kind::Counter, "Messages to apps that ended, by kind and outcome.");
    for kind in MessageKind::ALL {
        for outcome in MessageOutcome::ALL {
            let labels = [("kind", kind.as_str()), ("outcome", outcome.as_str())];
            out.sample(name, &labels, totals.all.messages[kind as usize][outcome as usize]);
        }
    }
    let name = "rookery_messages_queued";
    out.single(name, Kind::Gauge, "Messages queued or uncommitted.", totals.all.queued);
    let name = "rookery_mailbox_wait_seconds";
    out.family(name, Kind::Histogram, "From a message being sent to its being begun.");
    distribution(out, name, &[], &totals.all.wait);
    let name = "rookery_handle_seconds";
    out.family(name, Kind::Histogram, "From a message being begun to its being decided.");
    distribution(out, name, &[], &totals.all.handle);
}

fn writer(out: &mut Exposition, writer: &WriterHealth) {
    let counters = [
        (
            "rookery_commits_total",
            "Transactions of apps: accounts and sweeps commit beside them.",
            writer.batches,
        ),
        ("rookery_commit_groups_total", "Groups of apps made durable.", writer.groups),
        ("rookery_commit_rows_total", "Rows made durable.", writer.rows),
        ("rookery_commit_events_total", "Feed events made durable.", writer.events),
        ("rookery_commit_fenced_total", "Groups refused: another writer was there.", writer.fenced),
        ("rookery_commit_aborted_total", "Groups certainly not applied.", writer.aborted),
        ("rookery_commit_unknown_total", "Groups of unknown outcome.", writer.unknown),
        ("rookery_writer_restarts_total", "Restarted parts of the writer.", writer.restarts),
        ("rookery_checkpoints_total", "Checkpoints of SQLite's log.", writer.checkpoints),
    ];
    for (name, help, value) in counters {
        out.single(name, Kind::Counter, help, value);
    }
    let name = "rookery_commit_seconds";
    out.family(name, Kind::Histogram, "COMMIT with its fsync.");
    let (times, sum) = (&writer.commit_times, writer.commit_us_sum);
    out.seconds(name, &[], &COMMIT_BUCKETS_US, times, sum);
    let name = "rookery_commit_batch_rows";
    out.family(name, Kind::Histogram, "Rows in one transaction.");
    let bounds = BATCH_BUCKETS_ROWS.map(|bound| bound as f64);
    out.histogram(name, &[], &bounds, &writer.batch_sizes, writer.batch_rows_sum as f64);
    let gauges = [
        ("rookery_writer_queued_groups", "Groups that wait.", writer.queued as u64),
        ("rookery_writer_in_flight_groups", "Groups being committed.", writer.in_flight as u64),
        ("rookery_writer_ok", "1 when the writer commits.", u64::from(writer.ok)),
        ("rookery_wal_bytes", "SQLite's log at the last checkpoint.", writer.wal_bytes),
    ];
    for (name, help, value) in gauges {
        out.single(name, Kind::Gauge, help, value);
    }
    let name = "rookery_writer_wait_seconds";
    let help = "How long the oldest of the groups that wait has.";
    out.single(name, Kind::Gauge, help, writer.oldest_wait.as_secs_f64());
}

fn http(out: &mut Exposition, state: &State) {
    let name = "rookery_http_request_duration_seconds";
    let help = "From a request's complete head to its answer's head.";
    out.family(name, Kind::Histogram, help);
    for routes in state.ops.http.routes() {
        for reading in routes.read() {
            let labels = [
                ("listener", reading.listener.as_str()),
                ("route", reading.route),
                ("method", reading.method),
                ("class", reading.class),
            ];
            distribution(out, name, &labels, &reading.took);
        }
    }
    let name = "rookery_http_errors_total";
    out.family(name, Kind::Counter, "Error answers by code.");
    for (code, count) in state.ops.http.errors() {
        out.sample(name, &[("code", code.as_str())], count);
    }
    let name = "rookery_http_bad_heads_total";
    let help = "What came that was no request, or did not become one in time.";
    out.single(name, Kind::Counter, help, state.ops.http.bad_heads());
    let name = "rookery_http_connections";
    let help = "Open connections of both listeners.";
    out.single(name, Kind::Gauge, help, state.ops.http.connections());
    let name = "rookery_feed_waiters";
    let help = "Open long-polls and streams.";
    out.single(name, Kind::Gauge, help, state.feed_waiters.count());
    let mails = state.mailer.outcomes();
    let name = "rookery_mails_total";
    out.family(name, Kind::Counter, "Mails by how they ended.");
    out.sample(name, &[("outcome", "sent")], mails.sent);
    out.sample(name, &[("outcome", "failed")], mails.failed);
    let long_jobs = state.long_jobs();
    let name = "rookery_long_jobs_waiting";
    let help =
        "Long lists and decisions, manifests, large bodies and files that wait for their turn.";
    out.single(name, Kind::Gauge, help, long_jobs.count);
    let name = "rookery_long_job_wait_seconds";
    let help = "How long the oldest of them has waited.";
    out.single(name, Kind::Gauge, help, long_jobs.longest.as_secs_f64());
}

fn server(out: &mut Exposition, state: &State) {
    let name = "rookery_build_info";
    out.family(name, Kind::Gauge, "The running version.");
    out.sample(name, &[("version", env!("CARGO_PKG_VERSION"))], 1);
    let name = "rookery_uptime_seconds";
    out.single(name, Kind::Gauge, "Since the server started.", state.ops.uptime().as_secs_f64());
    let name = "rookery_event_loop_lag_seconds";
    let help = "How late the event loop was at worst since the last second began.";
    out.single(name, Kind::Gauge, help, state.ops.lag().as_secs_f64());
    let name = "rookery_trace_spans_total";
    out.family(name, Kind::Counter, "Spans of traces, by what became of them.");
    let spans = state.traces.as_ref().map_or_else(SentSpans::default, Traces::sent);
    let counts = [("sent", spans.sent), ("dropped", spans.dropped), ("failed", spans.failed)];
    for (outcome, count) in counts {
        out.sample(name, &[("outcome", outcome)], count);
    }
    if let Some(bytes) = process::resident_bytes() {
        let name = "process_resident_memory_bytes";
        out.single(name, Kind::Gauge, "Resident memory of the process.", bytes);
    }
    if let Some(fds) = process::open_fds() {
        out.single("process_open_fds", Kind::Gauge, "Open file descriptors.", fds);
    }
    if let Some(fds) = process::max_fds() {
        let name = "process_max_fds";
        out.single(name, Kind::Gauge, "File descriptors that may be open.", fds);
    }
    if let Some(seconds) = process::cpu_seconds() {
        let name = "process_cpu_seconds_total";
        out.single(name, Kind::Counter, "CPU time of the process, user and system.", seconds);
    }
    let name = "process_start_time_seconds";
    let started = state.ops.started_at().0 as f64 / 1e6;
    out.single(name, Kind::Gauge, "When the process started, in seconds since 1970.", started);
    if let Some(bytes) = state.rooms.db.file_bytes() {
        let name = "rookery_database_bytes";
        out.single(name, Kind::Gauge, "SQLite's file and its log.", bytes);
    }
}

fn distribution(out: &mut Exposition, name: &str, labels: Labels<'_>, times: &Distribution) {
    out.seconds(name, labels, &BOUNDS_US, &times.buckets, times.sum_us);
}
