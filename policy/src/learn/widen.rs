//! Widens used paths to patterns, as far as the width allows.

use std::collections::{BTreeMap, BTreeSet};

use super::patterns::{Bits, Pattern, WantedRights, collapsed};
use super::zone::{Shape, Zone, ZoneKind, Zones, around, is_gone};
use super::{FinalState, Observation, Used, Width};
use crate::paths::exec_roots::is_below;
use crate::programs::DEFAULT_CARRIERS;
use crate::programs::name::basename;

/// The files and programs to grant.
#[derive(Debug, Default)]
pub(super) struct Widened {
    pub(super) rights: WantedRights,
    pub(super) programs: BTreeSet<Pattern>,
    /// Programs that only start others, by name.
    pub(super) carriers: BTreeSet<String>,
    /// `exec.roots`, needed if the rules would name program files that a build replaces.
    pub(super) roots: BTreeSet<Vec<u8>>,
}

/// The bits, each widened by itself: many reads in a directory must not open it for writing.
const BITS: [(Used, Bits); 3] = [
    (Used::READ, Bits::R),
    (Used::WRITTEN, Bits::W),
    (Used(Used::MAPPED.0 | Used::STARTED.0 | Used::LOADED.0), Bits::X),
];

/// Widens all observations.
pub(super) fn widen(
    observations: &[&Observation],
    standing: &Inventory<'_>,
    zones: &Zones,
    width: Width,
) -> Widened {
    let mut widened = Widened::default();
    for (used, bits) in BITS {
        // Patterns to collapse, by the topmost directory that may replace them.
        let mut loose: BTreeMap<Vec<u8>, BTreeSet<Pattern>> = BTreeMap::new();
        for seen in observations.iter().filter(|seen| seen.used.meets(used)) {
            let zone = zones.find(&seen.path);
            match pattern(seen, bits, zone, standing, width) {
                Widening::Settled(pattern) => widened.rights.add(pattern, bits),
                Widening::Loose(pattern, top) => {
                    loose.entry(top).or_default().insert(pattern);
                }
            }
        }
        for (top, patterns) in loose {
            let is_named = zones.find(&top).kind;
            let is_whole = |dir: &[u8]| {
                is_below(dir, &top)
                    && zones.find(dir).kind == is_named
                    && (!matches!(is_named, ZoneKind::Home | ZoneKind::Elsewhere) || !zones.is_too_much(dir))
            };
            for pattern in collapsed(patterns, is_whole) {
                widened.rights.add(pattern, bits);
            }
        }
    }
    // In these zones libraries and programs lie side by side, and the tree writes neither.
    for (pattern, bits) in widened.rights.patterns_mut() {
        let is_settings = is_below(&pattern.path, b"/etc");
        bits.x |= pattern.is_deep && !is_settings && zones.find(&pattern.path).kind.holds_programs();
    }
    widened.rights.level(|dir| zones.find(dir).kind);
    programs(observations, zones, width, &mut widened);
    if width == Width::Tight {
        widened.roots = roots(observations, zones);
    }
    // Programs that are built in the project are assumed to run there, in this session or the next. A session that starts no
    // program consists of calls of tools that only read and write files, and runs nothing.
    let starts = observations.iter().any(|seen| seen.used.meets(Used::STARTED));
    let is_built = starts
        && observations
            .iter()
            .any(|seen| seen.used.meets(Used::WRITTEN) && zones.find(&seen.path).kind == ZoneKind::Project);
    if let Some(project) = zones.project.as_ref().filter(|_| is_built && width != Width::Tight) {
        widened.rights.add(Pattern::deep(project.clone()), Bits::X);
        widened.programs.insert(Pattern::deep(project.clone()));
    }
    widened
}

/// How one path is widened.
enum Widening {
    /// To this pattern.
    Settled(Pattern),
    /// To this pattern, or to a directory around it that is at or below the given one.
    Loose(Pattern, Vec<u8>),
}

fn pattern(seen: &Observation, bits: Bits, zone: &Zone, standing: &Inventory<'_>, width: Width) -> Widening {
    let top = zone.top.clone();
    let below = |top: Vec<u8>| Widening::Loose(standing.pattern(seen, bits, zone.kind, &top), top);
    let whole = || Widening::Settled(Pattern::deep(top.clone()));
    let itself = || Widening::Settled(Pattern::exact(seen.path.clone()));
    match (zone.kind, zone.shape, width) {
        (_, Shape::Prefix, _) => itself(),
        (ZoneKind::Kernel, _, Width::Normal | Width::Wide) if top == b"/sys" => whole(),
        (ZoneKind::Kernel, ..) => itself(),
        (ZoneKind::Home | ZoneKind::Elsewhere | ZoneKind::OtherHome, ..) => below(top),
        (ZoneKind::Temporary, _, Width::Tight) => match standing.first_below(seen, &top) {
            First::Directory(first) => Widening::Settled(Pattern::deep(first)),
            First::File => itself(),
            First::Gone => whole(),
        },
        (_, Shape::Shared, Width::Tight | Width::Normal) => match standing.first_below(seen, &top) {
            First::Directory(first) if width == Width::Tight => below(first),
            First::Directory(first) => Widening::Settled(Pattern::deep(first)),
            First::File | First::Gone => itself(),
        },
        (_, Shape::Whole, Width::Tight) => below(top),
        _ => whole(),
    }
}

/// The first component of a path below a directory.
enum First {
    Directory(Vec<u8>),
    /// A file, or the path is the directory itself.
    File,
    Gone,
}

/// What exists at each path at the end of the session, as far as it was observed.
#[derive(Debug)]
pub(super) struct Inventory<'s>(BTreeMap<&'s [u8], FinalState>);

impl<'s> Inventory<'s> {
    pub(super) fn new(observations: impl Iterator<Item = &'s Observation>) -> Inventory<'s> {
        let seen: Vec<_> = observations.collect();
        let mut standing: BTreeMap<&[u8], FinalState> =
            seen.iter().map(|seen| (&*seen.path, seen.final_state)).collect();
        // The parents of an existing path are directories now, whatever was observed of them. A file that replaced a
        // directory may become a directory again.
        for seen in &seen {
            for end in (1..seen.path.len()).filter(|at| seen.path[*at] == b'/') {
                let directory = &seen.path[..end];
                if !is_gone(seen.final_state) || standing.get(directory) == Some(&FinalState::File) {
                    standing.insert(directory, FinalState::Directory);
                }
            }
        }
        Inventory(standing)
    }

    fn is_directory(&self, path: &[u8]) -> bool {
        self.0.get(path) == Some(&FinalState::Directory)
    }

    fn is_gone(&self, path: &[u8]) -> bool {
        self.0.get(path) == Some(&FinalState::Nothing)
    }

    /// The pattern for the path itself. For a temporary name, the pattern for its nearest lasting directory at or below
    /// `top`.
    fn pattern(&self, seen: &Observation, bits: Bits, kind: ZoneKind, top: &[u8]) -> Pattern {
        if !kind.is_written() || !is_gone(seen.final_state) {
            // A new directory will hold other names next time.
            let is_filled =
                bits.w && seen.used.meets(Used::MADE) && seen.final_state == FinalState::Directory;
            return Pattern { path: seen.path.clone(), is_deep: kind.is_written() && is_filled };
        }
        let mut directory = around(&seen.path);
        while directory.len() > top.len() && self.is_gone(directory) {
            directory = around(directory);
        }
        Pattern::deep(if directory.len() < top.len() { top } else { directory })
    }

    fn first_below(&self, seen: &Observation, top: &[u8]) -> First {
        let Some(rest) = seen.path.strip_prefix(top).and_then(|rest| rest.strip_prefix(b"/")) else {
            return First::File;
        };
        let name = rest.iter().position(|byte| *byte == b'/').unwrap_or(rest.len());
        let first = &seen.path[..top.len() + 1 + name];
        if self.is_gone(first) {
            First::Gone
        } else if name < rest.len() || self.is_directory(first) {
            First::Directory(first.to_vec())
        } else {
            First::File
        }
    }
}

fn programs(observations: &[&Observation], zones: &Zones, width: Width, widened: &mut Widened) {
    let mut built = BTreeSet::new();
    for seen in observations.iter().filter(|seen| seen.used.meets(Used::STARTED)) {
        let zone = zones.find(&seen.path);
        let name = std::str::from_utf8(basename(&seen.path)).ok();
        if let Some(name) = name.filter(|name| DEFAULT_CARRIERS.contains(name) && zone.kind.holds_programs())
        {
            widened.carriers.insert(name.to_owned());
            continue;
        }
        let itself = Pattern::exact(seen.path.clone());
        let beside = || Pattern::deep(zone.top.clone());
        let is_temporary = is_gone(seen.final_state);
        match (zone.kind, width) {
            // The zone is this one file.
            _ if seen.path == zone.top => widened.programs.insert(itself),
            (ZoneKind::Project, Width::Tight) if is_temporary => {
                built.insert(Pattern::deep(around(&seen.path)))
            }
            (ZoneKind::Project, Width::Tight) => built.insert(itself),
            (ZoneKind::Project, _) => widened.programs.insert(beside()),
            (ZoneKind::System | ZoneKind::Toolchain, Width::Wide) => widened.programs.insert(beside()),
            (ZoneKind::Temporary, _) if is_temporary => widened.programs.insert(beside()),
            _ => widened.programs.insert(itself),
        };
    }
    let whole = |dir: &[u8]| zones.project.as_ref().is_some_and(|project| is_below(dir, project));
    widened.programs.extend(collapsed(built, whole));
}

/// The directories of all programs, if one of the programs is in the project.
fn roots(observations: &[&Observation], zones: &Zones) -> BTreeSet<Vec<u8>> {
    let started = observations.iter().filter(|seen| seen.used.meets(Used::STARTED));
    let started_in: Vec<(&Zone, &Vec<u8>)> =
        started.map(|seen| (zones.find(&seen.path), &seen.path)).collect();
    if !started_in.iter().any(|(zone, _)| zone.kind == ZoneKind::Project) {
        return BTreeSet::new();
    }
    let root = |(zone, path): (&Zone, &Vec<u8>)| match zone.kind {
        ZoneKind::Project | ZoneKind::System | ZoneKind::Toolchain => zone.top.clone(),
        _ => path.clone(),
    };
    started_in.into_iter().map(root).collect()
}
