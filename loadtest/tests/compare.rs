//! Judging one result against another.

use std::path::Path;

use rookery_load::{
    cli::{Command, Compare},
    command::carry_out,
    compare::{compare, text},
    result::{Better, Figure, ResultFile},
};

use crate::result::result;

fn with(figures: &[(&str, Better, &[f64])]) -> ResultFile {
    let figures = figures.iter().map(|(name, better, values)| Figure {
        name: (*name).to_owned(),
        unit: "ms".to_owned(),
        better: *better,
        values: values.to_vec(),
    });
    ResultFile { figures: figures.collect(), ..result() }
}

const QUICK: &[f64] = &[10.0, 11.0, 10.5, 10.2, 10.8];
const SLOW: &[f64] = &[15.0, 16.0, 15.5, 15.2, 15.8];

#[test]
fn a_figure_that_became_worse_makes_the_change_worse() {
    let a = with(&[("p99", Better::Lower, QUICK), ("rate", Better::Higher, QUICK)]);
    let b = with(&[("p99", Better::Lower, SLOW), ("rate", Better::Higher, SLOW)]);
    let there = compare(&a, &b, 0.02);
    assert!(there.is_worse());
    let said = text(&there);
    assert!(said.contains("Mann-Whitney"), "{said}");
    let line = |name: &str| said.lines().find(|line| line.starts_with(name)).expect("a line");
    assert!(line("p99").ends_with("WORSE") && line("rate").ends_with("better"), "{said}");
    assert!(!compare(&a, &a, 0.02).is_worse());
}

#[test]
fn noise_that_is_larger_than_the_difference_is_called_by_its_name() {
    let a = with(&[("p99", Better::Lower, &[10.0, 14.0, 9.0, 13.0, 12.0])]);
    let b = with(&[("p99", Better::Lower, &[11.0, 15.0, 10.0, 12.5, 13.5])]);
    let said = text(&compare(&a, &b, 0.02));
    assert!(said.contains("the noise is larger than the difference"), "{said}");
    let few = with(&[("p99", Better::Lower, &[30.0])]);
    let said = compare(&a, &few, 0.02);
    assert!(!said.is_worse());
    assert!(text(&said).contains("too few runs"));
}

#[tokio::test]
async fn a_comparison_that_judges_no_figure_does_not_end_well() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let written = |name: &str, figures: &[(&str, Better, &[f64])]| {
        let path = folder.path().join(name);
        let text = serde_json::to_string(&with(figures)).expect("JSON");
        std::fs::write(&path, text).expect("a file");
        path
    };
    let few: &[f64] = &[30.0, 31.0, 32.0];
    let one = written("one", &[("p99", Better::Lower, few), ("rate", Better::Higher, QUICK)]);
    let other = written("other", &[("p99", Better::Lower, few), ("rate", Better::Higher, QUICK)]);
    let short = written("short", &[("p99", Better::Lower, few), ("rate", Better::Higher, few)]);
    let judged = async |a: &Path, b: &Path| {
        let (a, b) = (a.to_owned(), b.to_owned());
        carry_out(&Command::Compare(Compare { a, b, effect_min: 0.02 })).await
    };
    assert!(judged(&one, &other).await.is_ok());
    let refused = judged(&one, &short).await.expect_err("none can be judged").to_string();
    assert!(refused.contains("no figure can be judged") && refused.contains('4'), "{refused}");
}

#[test]
fn what_makes_two_results_incomparable_is_told() {
    let a = with(&[("p99", Better::Lower, QUICK), ("old", Better::Lower, QUICK)]);
    let mut b = with(&[("p99", Better::Lower, QUICK), ("new", Better::Lower, QUICK)]);
    b.machine.cpus = 64;
    b.options = "{ op: Get }".to_owned();
    b.interrupted = true;
    let found = compare(&a, &b, 0.02);
    assert_eq!(found.missing, ["old (only in A)", "new (only in B)"]);
    for part in ["two machines", "two questions", "B was cut short"] {
        assert!(found.warnings.iter().any(|warning| warning.starts_with(part)), "{part}");
    }
}
