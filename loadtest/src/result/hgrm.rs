//! Histograms as text, in the format that HdrHistogram's own plotter reads (`.hgrm`).

use std::fmt::Write as _;

use hdrhistogram::Histogram;

use crate::stats::ms;

/// Values a half-distance to 100% is cut into, as HdrHistogram's tools do by default.
const TICKS_PER_HALF: u32 = 5;

/// The distribution of `histogram` (microseconds), shown in milliseconds.
#[must_use]
pub fn to_hgrm(histogram: &Histogram<u64>) -> String {
    let mut text = format!(
        "{:>12} {:>14} {:>10} {:>14}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let mut total = 0;
    for step in histogram.iter_quantiles(TICKS_PER_HALF) {
        total += step.count_since_last_iteration();
        let (value, quantile) = (ms(step.value_iterated_to()), step.quantile_iterated_to());
        // Writing to a String does not fail.
        let _ = write!(text, "{value:>12.3} {quantile:>14.12} {total:>10}");
        if quantile < 1.0 {
            let _ = write!(text, " {:>14.2}", 1.0 / (1.0 - quantile));
        }
        text.push('\n');
    }
    let _ = writeln!(
        text,
        "#[Mean    = {:>12.3}, StdDeviation   = {:>12.3}]\n\
         #[Max     = {:>12.3}, Total count    = {:>12}]\n\
         #[Buckets = {:>12}, SubBuckets     = {:>12}]",
        histogram.mean() / 1000.0,
        histogram.stdev() / 1000.0,
        ms(histogram.max()),
        histogram.len(),
        histogram.buckets(),
        histogram.distinct_values(),
    );
    text
}
