//! Patterns that take one text in exponentially many ways, as `(a+)+` does. The engine here never
//! tries them one by one, but a manifest's schemas travel: to generated types, to pages, to agents,
//! whose engines do.
//!
//! Found are repetitions without end of what is nothing but repetitions, where the end of one round
//! may as well be the beginning of the next. `([a-z]+\.)+` is none: each round has a dot.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

/// Whether `hir` holds such a repetition.
pub(super) fn repeats_repetitions(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Repetition(outer) => {
            outer.max.is_none() && flows_over(&outer.sub) || repeats_repetitions(&outer.sub)
        }
        HirKind::Capture(capture) => repeats_repetitions(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            parts.iter().any(repeats_repetitions)
        }
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => false,
    }
}

/// Whether a round of `body`, repeated, may hand what it ends with to the next one.
fn flows_over(body: &Hir) -> bool {
    let parts = match body.kind() {
        HirKind::Capture(capture) => return flows_over(&capture.sub),
        HirKind::Alternation(branches) => return branches.iter().any(flows_over),
        HirKind::Concat(parts) => parts.as_slice(),
        _ => std::slice::from_ref(body),
    };
    let Some(parts) = parts.iter().map(Part::of).collect::<Option<Vec<_>>>() else { return false };
    let mut ends = reached(parts.iter().rev());
    ends.intersect(&reached(parts.iter()));
    !ends.ranges().is_empty()
}

/// A part of a round that need not be there, or need not end.
struct Part {
    may_be_empty: bool,
    endless: bool,
    characters: ClassUnicode,
}

impl Part {
    fn of(hir: &Hir) -> Option<Self> {
        match hir.kind() {
            HirKind::Capture(capture) => Self::of(&capture.sub),
            HirKind::Repetition(inner) if inner.max.is_none() || inner.min == 0 => Some(Self {
                may_be_empty: inner.min == 0,
                endless: inner.max.is_none(),
                characters: characters(&inner.sub),
            }),
            _ => None,
        }
    }
}

/// The characters of the endless parts that a round may begin with (or end with, from its end).
fn reached<'p>(parts: impl Iterator<Item = &'p Part>) -> ClassUnicode {
    let mut reached = ClassUnicode::empty();
    for part in parts {
        if part.endless {
            reached.union(&part.characters);
        }
        if !part.may_be_empty {
            break;
        }
    }
    reached
}

/// What one time of a repetition may consist of: any character, where it is more than one of a kind.
fn characters(hir: &Hir) -> ClassUnicode {
    let any = || ClassUnicode::new([ClassUnicodeRange::new('\0', char::MAX)]);
    match hir.kind() {
        HirKind::Capture(capture) => characters(&capture.sub),
        HirKind::Class(Class::Unicode(class)) => class.clone(),
        HirKind::Literal(literal) => match std::str::from_utf8(&literal.0).map(str::chars) {
            Ok(mut text) => match (text.next(), text.next()) {
                (Some(only), None) => ClassUnicode::new([ClassUnicodeRange::new(only, only)]),
                _ => any(),
            },
            Err(_) => any(),
        },
        _ => any(),
    }
}
