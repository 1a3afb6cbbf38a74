//! The saturation search: rates are measured as `stats::KneeSearch` asks for them.

use std::sync::Arc;

use super::Context;
use crate::{
    failure::Result,
    load::{Mode, Plan, Workload},
    result::{Better, Search},
    stats::{KneeSearch, Observed},
};

impl Context {
    pub(super) async fn search(&mut self, case: &str, workload: Arc<dyn Workload>) -> Result<()> {
        let bound = self.load.bound();
        let mut search = KneeSearch::new(bound, self.load.rate());
        while let Some(rate) = search.next_rate() {
            let plan = Plan { mode: Mode::Open { rate }, ..self.load.plan() };
            let case = format!("{case} at {rate:.0}");
            let found = self.measure(&case, 1, &plan, Arc::clone(&workload)).await?;
            let p99_us = found.corrected.as_ref().map_or(0, |corrected| corrected.p99_us);
            let (errors, throughput) = (found.error_share(), found.throughput);
            search.observe(Observed { p99_us, errors, throughput });
        }
        let knee = search.knee();
        let broke = search.steps().iter().filter(|step| step.broke.is_some());
        let first = broke.min_by(|a, b| a.rate.total_cmp(&b.rate));
        let reason = first.and_then(|step| step.broke.as_deref().map(|why| (step.rate, why)));
        let reason = reason
            .map_or("nothing broke".to_owned(), |(rate, why)| format!("{why} at {rate:.0}/s"));
        self.view.line(&match knee {
            Some(knee) => format!("{case}: the knee is at {knee:.0}/s ({reason})"),
            None => format!("{case}: no rate held ({reason})"),
        });
        if let Some(knee) = knee {
            self.figure(&format!("{case}: knee"), "1/s", Better::Higher, knee);
        }
        let steps = search.steps().to_vec();
        self.result.searches.push(Search { case: case.to_owned(), bound, steps, knee });
        Ok(())
    }
}
