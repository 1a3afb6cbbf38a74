//! The report: complete in itself, readable without a script, with a table beside each plot.

use rookery_load::report::html;

use crate::result::result;

#[test]
fn the_page_needs_nothing_from_elsewhere_and_no_script() {
    let page = html(&result());
    for forbidden in ["<script", "http://", "https://", "url(", "@import", "<link", "<img"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(
        page.contains("prefers-color-scheme: dark") && page.contains("color-scheme: light dark")
    );
    assert!(page.contains("name=\"viewport\""));
}

#[test]
fn a_table_stands_beside_each_plot() {
    let page = html(&result());
    let plots = page.matches("<svg ").count();
    assert!(plots >= 4, "{plots}");
    assert_eq!(page.matches("class=\"pair\"").count(), plots);
    assert_eq!(page.matches("role=\"img\"").count(), plots);
    for pair in page.split("class=\"pair\"").skip(1) {
        let inside = pair.split("<h").next().expect("a part");
        assert!(inside.contains("<table>") && inside.contains("<caption>"), "{inside}");
    }
}

#[test]
fn texts_of_the_result_cannot_become_markup() {
    let page = html(&result());
    assert!(page.contains("A &lt;CPU&gt; &amp; more"));
    assert!(page.contains("&lt;careful&gt;") && !page.contains("<careful>"));
    assert!(page.contains("p99 &lt;80&gt; ms"));
}

#[test]
fn a_closed_loop_says_that_it_is_not_for_latency() {
    let mut closed = result();
    closed.measurements.remove(0);
    assert!(html(&closed).matches("not for latency").count() >= 2);
}

#[test]
fn an_empty_result_is_a_page_too() {
    let mut empty = result();
    empty.measurements.clear();
    empty.searches.clear();
    empty.series.clear();
    empty.figures.clear();
    assert!(html(&empty).ends_with("</html>\n"));
}
