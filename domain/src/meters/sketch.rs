//! Telling how many different visitors there were, without keeping who they were: exact up to
//! [`EXACT_MAX`], beyond that an estimate in 4 KiB with a standard error of about 1.3%.
//!
//! The estimate is HyperLogLog's registers (Flajolet et al., 2007) counted by the historic inverse
//! probability (Ting, 2014): every visitor that changes a register stands for one divided by the
//! probability of such a change. Unlike the classic formula it grows visitor by visitor, so a
//! visitor can be counted for its country and its referrer as it comes.

/// Visitors that are told apart exactly.
pub const EXACT_MAX: usize = 512;

const INDEX_BITS: u32 = 12;
const REGISTERS: usize = 1 << INDEX_BITS;
const EXACT_FORMAT: u8 = 1;
const REGISTERS_FORMAT: u8 = 2;

/// The visitors of some time, told apart by their hashes.
#[derive(Debug, Clone, PartialEq)]
pub struct VisitorSketch {
    count: f64,
    kept: Kept,
}

#[derive(Debug, Clone, PartialEq)]
enum Kept {
    /// Every hash, sorted.
    Exact(Vec<u64>),
    /// The longest run of zeros seen by each register.
    Registers {
        registers: Box<[u8]>,
        /// The sum of 2^-r over the registers: the chance of a change, times their number.
        open: f64,
    },
}

impl Default for VisitorSketch {
    fn default() -> Self {
        Self { count: 0.0, kept: Kept::Exact(Vec::new()) }
    }
}

impl VisitorSketch {
    /// Visitors seen so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count as u64
    }

    /// Sees a visitor; by how much that raises [`VisitorSketch::count`]. Nothing for one that was
    /// seen before.
    pub fn see(&mut self, visitor: u64) -> u64 {
        let before = self.count();
        match &mut self.kept {
            Kept::Exact(seen) => {
                let Err(place) = seen.binary_search(&visitor) else { return 0 };
                self.count += 1.0;
                if seen.len() < EXACT_MAX {
                    seen.insert(place, visitor);
                } else {
                    let mut registers = vec![0; REGISTERS].into_boxed_slice();
                    for one in seen.iter().chain([&visitor]) {
                        raise(&mut registers, *one);
                    }
                    let open = open(&registers);
                    self.kept = Kept::Registers { registers, open };
                }
            }
            Kept::Registers { registers, open } => {
                if let Some((old, new)) = raise(registers, visitor) {
                    self.count += REGISTERS as f64 / *open;
                    *open += chance(new) - chance(old);
                }
            }
        }
        self.count() - before
    }

    /// Its bytes, for storage.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        match &self.kept {
            Kept::Exact(seen) => {
                let mut bytes = vec![EXACT_FORMAT];
                bytes.extend(seen.iter().flat_map(|one| one.to_le_bytes()));
                bytes
            }
            Kept::Registers { registers, .. } => {
                let mut bytes = vec![REGISTERS_FORMAT];
                bytes.extend(self.count.to_le_bytes());
                bytes.extend(registers.iter());
                bytes
            }
        }
    }

    /// The sketch with these bytes; `None` when they are no sketch.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes.split_first()? {
            (&EXACT_FORMAT, hashes) if hashes.len() % 8 == 0 => {
                let words = hashes.chunks_exact(8);
                let seen: Vec<u64> = words
                    .filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)))
                    .collect();
                let is_sorted = seen.is_sorted_by(|a, b| a < b) && seen.len() <= EXACT_MAX;
                is_sorted.then_some(Self { count: seen.len() as f64, kept: Kept::Exact(seen) })
            }
            (&REGISTERS_FORMAT, rest) => {
                let (count, registers) = rest.split_first_chunk::<8>()?;
                let count = f64::from_le_bytes(*count);
                let is_whole = registers.len() == REGISTERS && count.is_finite() && count >= 0.0;
                is_whole.then(|| Self {
                    count,
                    kept: Kept::Registers { registers: registers.into(), open: open(registers) },
                })
            }
            _ => None,
        }
    }
}

/// Raises the register of a visitor; its old and new value when that changed it.
fn raise(registers: &mut [u8], visitor: u64) -> Option<(u8, u8)> {
    let register = &mut registers[(visitor >> (u64::BITS - INDEX_BITS)) as usize];
    // The low bit ends the run where all others are zero.
    let run = ((visitor << INDEX_BITS) | (1 << (INDEX_BITS - 1))).leading_zeros() as u8 + 1;
    let old = *register;
    *register = old.max(run);
    (run > old).then_some((old, run))
}

/// The chance that a hash exceeds a register's value.
fn chance(register: u8) -> f64 {
    (-f64::from(register)).exp2()
}

fn open(registers: &[u8]) -> f64 {
    registers.iter().map(|register| chance(*register)).sum()
}
