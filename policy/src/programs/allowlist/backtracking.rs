//! Finds expressions on which a backtracking engine could take forever.

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

/// Returns whether one run of characters could be divided among repetitions in many ways: among adjacent repetitions that
/// share a character, with nothing required between them, or among a repetition and one inside it.
///
/// The nesting of `hir` is bounded by its parser.
pub(super) fn is_prone(hir: &Hir) -> bool {
    ends(hir).is_none()
}

/// The characters of the unbounded repetitions at both ends of an expression.
struct EdgeRepetitions {
    /// Whether the expression can match the empty text, which makes its neighbours adjacent.
    is_nullable: bool,
    lead: ClassUnicode,
    trail: ClassUnicode,
}

/// Returns the repetitions at both ends; `None` when the expression is prone.
fn ends(hir: &Hir) -> Option<EdgeRepetitions> {
    let none = |is_nullable| EdgeRepetitions {
        is_nullable,
        lead: ClassUnicode::empty(),
        trail: ClassUnicode::empty(),
    };
    Some(match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => none(true),
        HirKind::Literal(_) | HirKind::Class(_) => none(false),
        HirKind::Capture(capture) => ends(&capture.sub)?,
        HirKind::Repetition(repetition) => {
            let sub = ends(&repetition.sub)?;
            // One round is adjacent to the next.
            if repetition.max.is_none_or(|max| max > 1) && overlap(&sub.trail, &sub.lead) {
                return None;
            }
            let is_nullable = repetition.min == 0 || sub.is_nullable;
            match repetition.max {
                Some(_) => EdgeRepetitions { is_nullable, ..sub },
                None => {
                    let own = characters(&repetition.sub);
                    EdgeRepetitions { is_nullable, lead: own.clone(), trail: own }
                }
            }
        }
        HirKind::Concat(parts) => {
            let mut whole = none(true);
            for part in parts {
                let part = ends(part)?;
                if overlap(&whole.trail, &part.lead) {
                    return None;
                }
                if whole.is_nullable {
                    whole.lead.union(&part.lead);
                }
                if !part.is_nullable {
                    whole.trail = ClassUnicode::empty();
                }
                whole.trail.union(&part.trail);
                whole.is_nullable &= part.is_nullable;
            }
            whole
        }
        HirKind::Alternation(branches) => {
            let mut whole = none(false);
            for branch in branches {
                let branch = ends(branch)?;
                whole.is_nullable |= branch.is_nullable;
                whole.lead.union(&branch.lead);
                whole.trail.union(&branch.trail);
            }
            whole
        }
    })
}

fn overlap(one: &ClassUnicode, other: &ClassUnicode) -> bool {
    let mut common = one.clone();
    common.intersect(other);
    !common.ranges().is_empty()
}

/// Returns every character that an expression can match somewhere.
fn characters(hir: &Hir) -> ClassUnicode {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => ClassUnicode::empty(),
        HirKind::Literal(literal) => {
            let text = String::from_utf8_lossy(&literal.0);
            ClassUnicode::new(text.chars().map(|c| ClassUnicodeRange::new(c, c)))
        }
        HirKind::Class(Class::Unicode(class)) => class.clone(),
        HirKind::Class(Class::Bytes(class)) => class.to_unicode_class().unwrap_or_else(ClassUnicode::empty),
        HirKind::Repetition(repetition) => characters(&repetition.sub),
        HirKind::Capture(capture) => characters(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            let mut all = ClassUnicode::empty();
            parts.iter().for_each(|part| all.union(&characters(part)));
            all
        }
    }
}

#[cfg(test)]
mod tests {
    fn is_prone(pattern: &str) -> bool {
        super::is_prone(&regex_syntax::parse(pattern).unwrap())
    }

    #[test]
    fn repetitions_that_share_characters() {
        for pattern in [
            "(a+)+",
            "(a*)*",
            "(a+){2,5}",
            "a*a*",
            "a+a+",
            "a*(b?)a*",
            "(a*b*)*",
            "(a|b)*(b|c)*",
            "a*(|x)a*",
            "(x|a*)(a*|y)",
            "a*^a*",
            "((a+)b?)+",
            ".*.*",
            "[^x]*y?[^y]*",
            "(aa)*(ba)*",
        ] {
            assert!(is_prone(pattern), "{pattern}");
        }
        for pattern in [
            "a*b*",
            "a*xa*",
            "(a|x)*(b|y)*z",
            "(a*b)*",
            "(ba*)*",
            "a+",
            "(ab)+",
            "(a+b)+",
            "a?a?a?",
            "a{0,9}a{0,9}",
            "",
            "(a|b|c)",
            "^--[a-z]+(=[0-9]+)?$",
            "a*b|a*c",
            "(a+)?b",
        ] {
            assert!(!is_prone(pattern), "{pattern}");
        }
    }
}
