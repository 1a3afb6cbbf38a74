//! The open loop: the timetable, and that waiting for a slow server is not left out of latencies.

use std::time::Duration;

use rookery_load::load::{
    recorder::{Recorder, Sample},
    schedule::{Schedule, Take},
};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn requests_are_due_at_fixed_times_whatever_happened_before() {
    let mut schedule = Schedule::new(100.0, ms(40), 10, 0, 1);
    assert_eq!(schedule.take(ms(0)), Take::Due(ms(0)));
    assert_eq!(schedule.take(ms(3)), Take::At(ms(10)));
    // The connection comes back late: the next request is already due, at its old time.
    assert_eq!(schedule.take(ms(25)), Take::Due(ms(20)));
    assert_eq!(schedule.take(ms(26)), Take::At(ms(30)));
    assert_eq!(schedule.take(ms(31)), Take::Done);
    assert_eq!(schedule.next_dropped(), None);
}

#[test]
fn threads_share_one_timetable_between_them() {
    let mut times = Vec::new();
    for thread in 0..3 {
        let mut schedule = Schedule::new(300.0, Duration::from_secs(1), 1000, thread, 3);
        while let Take::Due(at) = schedule.take(Duration::from_secs(2)) {
            times.push(at);
        }
    }
    times.sort_unstable();
    assert_eq!(times.len(), 300);
    let step = Duration::from_secs_f64(1.0 / 300.0);
    let longest = times.windows(2).map(|two| two[1] - two[0]).max().expect("times");
    assert!(longest < step + Duration::from_micros(1), "{longest:?}");
}

#[test]
fn what_finds_the_queue_full_is_dropped_and_told_and_the_oldest_stay() {
    let mut schedule = Schedule::new(100.0, ms(100), 3, 0, 1);
    assert_eq!(schedule.take(ms(0)), Take::Due(ms(0)));
    // Nine more arrive before a connection is free; three may wait.
    assert_eq!(schedule.take(ms(95)), Take::Due(ms(10)));
    let dropped: Vec<Duration> = std::iter::from_fn(|| schedule.next_dropped()).collect();
    assert_eq!(dropped, [40, 50, 60, 70, 80, 90].map(ms));
    assert_eq!(schedule.take(ms(96)), Take::Due(ms(20)));
    assert_eq!(schedule.take(ms(97)), Take::Due(ms(30)));
    assert_eq!(schedule.take(ms(98)), Take::Done);
}

/// Gil Tene's example: 100 requests a second for 200 s to a server that answers in 1 ms for the
/// first half and then stands still for 100 s. A closed loop sees one slow request among 10,001.
#[test]
fn a_server_that_stalls_shows_in_corrected_percentiles_though_service_times_look_fine() {
    let mut schedule = Schedule::new(100.0, Duration::from_secs(200), 20_000, 0, 1);
    let mut recorder = Recorder::new(1, true);
    let stall = Duration::from_secs(100)..Duration::from_secs(200);
    let mut now = Duration::ZERO;
    loop {
        let intended = match schedule.take(now) {
            Take::Done => break,
            Take::Due(at) => at,
            Take::At(at) => {
                now = at;
                at
            }
        };
        let sent = now;
        now = if stall.contains(&sent) { stall.end } else { sent } + ms(1);
        let done = now;
        recorder.record(Sample { lane: 0, intended, sent, done, error: None });
    }
    assert_eq!((recorder.intended, recorder.dropped), (20_000, 0));
    let second = |us: u64| us as f64 / 1e6;
    let service = |q| second(recorder.service.value_at_quantile(q));
    let corrected = |q| second(recorder.corrected.value_at_quantile(q));
    // What each request took on the wire: 1 ms up to the 99.99th percentile.
    assert!(service(0.9999) < 0.0011, "{}", service(0.9999));
    // What users waited: half of them up to 110 s (100 s of stall and the queue behind it).
    assert!(corrected(0.5) < 0.0021, "{}", corrected(0.5));
    assert!((50.0..60.0).contains(&corrected(0.75)), "{}", corrected(0.75));
    assert!((98.0..101.0).contains(&corrected(0.99)), "{}", corrected(0.99));
}

#[test]
fn a_request_without_an_answer_counts_as_slow_and_a_refusal_does_not_count_as_fast() {
    let mut recorder = Recorder::new(1, true);
    let at = |done, error| Sample { lane: 0, intended: ms(0), sent: ms(0), done, error };
    recorder.record(at(ms(5), None));
    recorder.record(at(ms(1), Some("unavailable")));
    recorder.record(at(ms(10_000), Some("timeout")));
    recorder.record_dropped(ms(3));
    assert_eq!((recorder.intended, recorder.sent, recorder.ok, recorder.dropped), (4, 3, 1, 1));
    assert_eq!(recorder.errors["unavailable"], 1);
    assert_eq!(recorder.corrected.len(), 2);
    assert!(recorder.corrected.min() >= 4_990);
    assert!(recorder.corrected.max() >= 10_000_000);
    assert_eq!((recorder.timeline[0].ok, recorder.timeline[0].dropped), (1, 1));
}

#[test]
fn what_threads_saw_adds_up() {
    let sample = |lane, done| Sample { lane, intended: ms(0), sent: ms(1), done, error: None };
    let (mut one, mut two) = (Recorder::new(2, true), Recorder::new(2, true));
    one.record(sample(0, ms(2)));
    two.record(sample(1, ms(1500)));
    two.record(Sample { error: Some("conflict"), ..sample(1, ms(3)) });
    one.merge(&two);
    assert_eq!((one.intended, one.ok, one.corrected.len()), (3, 2, 2));
    assert_eq!((one.lanes[0].ok, one.lanes[1].ok, one.lanes[1].sent), (1, 1, 2));
    assert_eq!((one.timeline.len(), one.last), (2, ms(1500)));
    assert_eq!(one.errors["conflict"], 1);
}
