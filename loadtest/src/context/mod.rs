//! What a scenario works with: the server, the load it was asked for, a place for what it finds.

mod search;

use std::{fs, path::PathBuf, sync::Arc};

use tokio_util::sync::CancellationToken;

use crate::{
    cli::{LoadArgs, TargetArgs},
    client::Endpoint,
    enroll::Identity,
    failure::{Failure, Result},
    load::{self, Live, Plan, Recording, Workload},
    machine::Machine,
    result::{
        Better, FILE, FORMAT, Figure, Measurement, ResultFile, Series, derive, hgrm::to_hgrm,
    },
    server::{self, Server},
    stats::ms,
    target::Target,
    view::View,
};

/// Everything a scenario needs.
pub struct Context {
    /// The server and this run's apps there.
    pub target: Target,
    /// The load that was asked for.
    pub load: LoadArgs,
    /// The terminal.
    pub view: View,
    /// Cancelled by Ctrl-C and SIGTERM.
    pub cancel: CancellationToken,
    /// What was found so far.
    pub result: ResultFile,
    args: TargetArgs,
    out: PathBuf,
}

impl Context {
    /// Reaches the server, starting it where asked, and enrolls.
    ///
    /// # Errors
    /// When there is no server, it refuses, or the folder for the result cannot be made.
    pub async fn open(
        command: &str,
        options: String,
        args: &TargetArgs,
        load: &LoadArgs,
        cancel: &CancellationToken,
    ) -> Result<Self> {
        let out = load.out.clone().unwrap_or_else(|| PathBuf::from("load-results").join(command));
        fs::create_dir_all(&out)
            .map_err(|source| Failure::File { path: out.display().to_string(), source })?;
        let target = reach(args, &[]).await?;
        let result = ResultFile {
            format: FORMAT,
            tool: concat!("rookery-load ", env!("CARGO_PKG_VERSION")).to_owned(),
            created_at: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            command: command.to_owned(),
            options,
            machine: Machine::here(),
            spawned: args.spawn,
            interrupted: false,
            measurements: Vec::new(),
            searches: Vec::new(),
            series: Vec::new(),
            figures: Vec::new(),
            warnings: Vec::new(),
        };
        let (args, load, cancel) = (args.clone(), load.clone(), cancel.clone());
        Ok(Self { target, load, view: View::default(), cancel, result, args, out })
    }

    /// Another target on the same terms: a fresh server where servers are spawned, else the same.
    ///
    /// # Errors
    /// As [`Context::open`].
    pub async fn another_target(&self, settings: &[(String, String)]) -> Result<Target> {
        reach(&self.args, settings).await
    }

    /// Measures one phase at the target's own endpoint and notes it.
    ///
    /// # Errors
    /// When it cannot be carried out.
    pub async fn measure(
        &mut self,
        case: &str,
        run: usize,
        plan: &Plan,
        workload: Arc<dyn Workload>,
    ) -> Result<Measurement> {
        let endpoint = self.target.api.endpoint().clone();
        self.measure_at(&endpoint, case, run, plan, workload).await
    }

    /// The same, at another origin of the server.
    ///
    /// # Errors
    /// When it cannot be carried out.
    pub async fn measure_at(
        &mut self,
        endpoint: &Endpoint,
        case: &str,
        run: usize,
        plan: &Plan,
        workload: Arc<dyn Workload>,
    ) -> Result<Measurement> {
        let cpu = self.target.cpu();
        let label = format!("{case} run {run}");
        let recording = self.record_at(endpoint, &label, plan, &workload).await?;
        let found = derive::measurement(case, run, plan, &recording, &*workload);
        let server = derive::server_cost(cpu, self.target.cpu(), self.target.resident());
        self.note(Measurement { server, ..found }, &recording, workload.meant_refusal())
    }

    /// Runs a phase at the target's own endpoint without noting it.
    ///
    /// # Errors
    /// When it cannot be carried out.
    pub async fn record<W: Workload + 'static>(
        &self,
        label: &str,
        plan: &Plan,
        workload: &Arc<W>,
    ) -> Result<Recording> {
        let workload: Arc<dyn Workload> = Arc::clone(workload) as _;
        self.record_at(self.target.api.endpoint(), label, plan, &workload).await
    }

    /// The same, beside another phase that is being shown.
    ///
    /// # Errors
    /// When it cannot be carried out.
    pub async fn record_silently<W: Workload + 'static>(
        &self,
        plan: &Plan,
        workload: &Arc<W>,
    ) -> Result<Recording> {
        let workload: Arc<dyn Workload> = Arc::clone(workload) as _;
        let endpoint = self.target.api.endpoint();
        load::run(endpoint, plan, workload, Arc::default(), &self.cancel).await
    }

    async fn record_at(
        &self,
        endpoint: &Endpoint,
        label: &str,
        plan: &Plan,
        workload: &Arc<dyn Workload>,
    ) -> Result<Recording> {
        let live = Arc::new(Live::default());
        let _shown = self.view.progress(label, &live, plan.warmup + plan.duration);
        load::run(endpoint, plan, Arc::clone(workload), live, &self.cancel).await
    }

    /// Notes a phase that was measured elsewhere: one line, the histograms, the result. A refusal
    /// that the scenario means to provoke is no warning.
    ///
    /// # Errors
    /// When a histogram cannot be written.
    pub fn note(
        &mut self,
        found: Measurement,
        recording: &Recording,
        meant_refusal: Option<&str>,
    ) -> Result<Measurement> {
        self.view.line(&summary(&found));
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name = format!("{}-{}", found.case.chars().map(plain).collect::<String>(), found.run);
        if found.corrected.is_some() {
            self.write(&format!("{name}-corrected.hgrm"), &to_hgrm(&recording.recorder.corrected))?;
        }
        self.write(&format!("{name}-service.hgrm"), &to_hgrm(&recording.recorder.service))?;
        for warning in derive::warnings(&found, meant_refusal) {
            self.warn(warning);
        }
        self.result.measurements.push(found.clone());
        Ok(found)
    }

    /// All runs of a case as the command line asks for, or the search for its saturation point.
    ///
    /// # Errors
    /// When one cannot be carried out.
    pub async fn measure_all(&mut self, case: &str, workload: Arc<dyn Workload>) -> Result<()> {
        if self.load.search {
            return self.search(case, workload).await;
        }
        for run in 1..=self.load.runs {
            let plan = self.load.plan();
            self.measure(case, run, &plan, Arc::clone(&workload)).await?;
        }
        Ok(())
    }

    /// Adds a value to a figure.
    pub fn figure(&mut self, name: &str, unit: &str, better: Better, value: f64) {
        match self.result.figures.iter_mut().find(|figure| figure.name == name) {
            Some(figure) => figure.values.push(value),
            None => self.result.figures.push(Figure {
                name: name.to_owned(),
                unit: unit.to_owned(),
                better,
                values: vec![value],
            }),
        }
    }

    /// Adds a series.
    pub fn series(&mut self, series: Series) {
        self.result.series.push(series);
    }

    /// Prints a warning and keeps it in the result.
    pub fn warn(&mut self, warning: String) {
        self.view.line(&format!("  ! {warning}"));
        self.result.warnings.push(warning);
    }

    /// Writes `result.json` and the report; the folder they are in.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(&mut self) -> Result<PathBuf> {
        let measurements = &self.result.measurements;
        // Each rate of a search is a case of its own; only the knee can be compared.
        let measured = if self.result.searches.is_empty() { measurements.as_slice() } else { &[] };
        let mut figures = derive::figures(measured);
        figures.append(&mut self.result.figures);
        self.result.figures = figures;
        self.write(FILE, &self.result.to_json())?;
        self.write("report.html", &crate::report::html(&self.result))?;
        Ok(self.out.clone())
    }

    /// Writes a file of the result.
    ///
    /// # Errors
    /// [`Failure::File`].
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.out.join(name);
        fs::write(&path, text)
            .map_err(|source| Failure::File { path: path.display().to_string(), source })
    }
}

async fn reach(args: &TargetArgs, settings: &[(String, String)]) -> Result<Target> {
    let identity = Identity {
        agent_key: args.agent_key.clone().filter(|_| !args.spawn),
        session: args.session.clone().filter(|_| !args.spawn),
        email: args.email.clone(),
    };
    if !args.spawn {
        return Target::reach(&args.url, &identity, None, args.server_pid).await;
    }
    let binary = server::binary(args.server_bin.as_deref())?;
    let settings = [args.settings.as_slice(), settings].concat();
    let server = Server::start(&binary, &settings)?;
    let url = server.url.clone();
    Target::reach(&url, &identity, Some(server), None).await
}

/// A phase in one line.
fn summary(found: &Measurement) -> String {
    let head = format!("{} run {}: {:.0}/s", found.case, found.run, found.throughput);
    let latency = match (&found.corrected, &found.timing) {
        (Some(corrected), _) => format!(
            "p50 {:.2} ms, p99 {:.2} ms, max {:.1} ms (corrected)",
            ms(corrected.p50_us),
            ms(corrected.p99_us),
            ms(corrected.max_us)
        ),
        (None, timing) => timing.label(),
    };
    let failed: u64 = found.errors.values().sum();
    let after = match found.ok_after {
        0 => String::new(),
        count => format!(", answered after the end {count}"),
    };
    format!("{head}, {latency}, errors {failed}, dropped {}{after}", found.dropped)
}
