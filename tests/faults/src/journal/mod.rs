//! The journal of acknowledgements, kept outside of the server: what was sent, and what was told.

mod step;

use std::collections::BTreeMap;

pub use step::{Row, Step, Told};

/// What the server must hold: settled by answers, or open.
#[derive(Debug, Default)]
pub struct Journal {
    /// Rows as the last acknowledged change left them; deleted ones too.
    pub settled: BTreeMap<String, Row>,
    /// Steps whose outcome nobody was told. They are all or nothing; no later step builds on one.
    pub open: Vec<Step>,
    /// Acknowledged creations that may be asked for again.
    pub replayable: Vec<Step>,
    /// Acknowledged changes of rows.
    pub acknowledged: usize,
    /// Refusals that were expected: they must have had no effect.
    pub refused: usize,
    /// Answers that said "not applied, try again".
    pub unavailable: usize,
    /// Where a trace of the disk stood when a change was acknowledged, for crews that record it.
    pub marks: Vec<(u64, Vec<(String, Row)>)>,
    /// What the server said that it must not say.
    pub wrong: Vec<String>,
}

impl Journal {
    /// Writes down what was told about a step.
    pub fn note(&mut self, step: Step, told: Told) {
        match told {
            Told::Done => {
                self.acknowledged += step.effect.len();
                self.settled.extend(step.effect.iter().cloned());
                if step.idempotency.is_some() {
                    self.replayable.push(step);
                }
            }
            Told::Refused => self.refused += 1,
            Told::Unavailable => self.unavailable += 1,
            Told::Unreached => {}
            Told::Nothing => self.open.push(step),
            Told::Wrong(words) => self.wrong.push(words),
        }
    }

    /// Adds another journal about the same app and other rows.
    pub fn absorb(&mut self, other: Self) {
        self.settled.extend(other.settled);
        self.open.extend(other.open);
        self.replayable.extend(other.replayable);
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.unavailable += other.unavailable;
        self.marks.extend(other.marks);
        self.wrong.extend(other.wrong);
    }
}
