//! Zones: kinds of places that an operator has a name for, such as the project or a cache.

use super::{FinalState, Session, Used};
use crate::compile::builtin::system::{PROGRAMS, RULES};
use crate::compile::builtin::templates;
use crate::paths::exec_roots::is_below;
use crate::paths::expansion::expand;

/// The kinds of zones, in the order of a proposal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ZoneKind {
    /// The project's directory.
    Project,
    /// The repository that contains the project.
    Repository,
    /// Tools that the operator has installed.
    Toolchain,
    /// Files that tools keep and can fetch or make again.
    Cache,
    /// Temporary files.
    Temporary,
    /// The system's directories.
    System,
    /// /proc, /sys and /dev.
    Kernel,
    /// The rest of the home.
    Home,
    /// Another user's home.
    OtherHome,
    /// Everywhere else.
    Elsewhere,
}

impl ZoneKind {
    /// The comment above its rules.
    pub(super) fn title(self) -> &'static str {
        match self {
            ZoneKind::Project => "project",
            ZoneKind::Repository => "the repository around it",
            ZoneKind::Toolchain => "toolchains",
            ZoneKind::Cache => "caches",
            ZoneKind::Temporary => "temporary files",
            ZoneKind::System | ZoneKind::Kernel => "system",
            ZoneKind::Home => "files of the home",
            ZoneKind::OtherHome | ZoneKind::Elsewhere => "elsewhere",
        }
    }

    /// Whether a proposal may grant writing there.
    pub(super) fn is_written(self) -> bool {
        matches!(self, ZoneKind::Project | ZoneKind::Cache | ZoneKind::Temporary)
    }

    /// Whether it holds programs and libraries that the tree does not write.
    pub(super) fn holds_programs(self) -> bool {
        matches!(self, ZoneKind::System | ZoneKind::Toolchain)
    }
}

/// The extent of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// A directory that belongs to one thing.
    Whole,
    /// A directory in which each name belongs to something else: /etc, ~/.cache.
    Shared,
    /// All files whose paths begin with `top`.
    Prefix,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Zone {
    pub(super) kind: ZoneKind,
    pub(super) shape: Shape,
    /// Its directory, or the prefix of its files' paths.
    pub(super) top: Vec<u8>,
}

impl Zone {
    fn new(kind: ZoneKind, top: impl Into<Vec<u8>>) -> Zone {
        Zone { kind, shape: Shape::Whole, top: top.into() }
    }

    fn shared(kind: ZoneKind, top: impl Into<Vec<u8>>) -> Zone {
        Zone { shape: Shape::Shared, ..Zone::new(kind, top) }
    }

    fn holds(&self, path: &[u8]) -> bool {
        match self.shape {
            Shape::Prefix => path.starts_with(&self.top),
            Shape::Whole | Shape::Shared => is_below(path, &self.top),
        }
    }
}

/// All zones of a host.
#[derive(Debug)]
pub(super) struct Zones {
    zones: Vec<Zone>,
    pub(super) home: Vec<u8>,
    /// The project's directory; `None` if that would be the home or a directory around it.
    pub(super) project: Option<Vec<u8>>,
}

impl Zones {
    pub(super) fn new(session: &Session<'_>) -> Zones {
        let host = session.host;
        let home = host.home;
        let project = project(session);
        let mut zones = vec![
            Zone::new(ZoneKind::Elsewhere, ""),
            Zone::new(ZoneKind::OtherHome, "/home"),
            Zone::new(ZoneKind::OtherHome, "/root"),
            Zone::new(ZoneKind::Kernel, "/proc"),
            Zone::new(ZoneKind::Kernel, "/sys"),
            Zone::new(ZoneKind::Kernel, "/dev"),
            Zone::new(ZoneKind::Temporary, "/dev/shm"),
            Zone::shared(ZoneKind::System, "/etc"),
            Zone::new(ZoneKind::Home, home),
        ];
        zones.extend(PROGRAMS.iter().filter_map(|pattern| pattern.strip_suffix("/**")).map(
            |top| match top {
                "/opt" => Zone::shared(ZoneKind::System, top),
                _ => Zone::new(ZoneKind::System, top),
            },
        ));
        for (permission, list) in RULES {
            let kind = match *permission {
                "r-x" => ZoneKind::Toolchain,
                "rw-" | "rw?" => ZoneKind::Cache,
                _ => continue,
            };
            for pattern in list.split_whitespace().filter(|pattern| pattern.starts_with("~/")) {
                let shape = match pattern {
                    "~/.cache/**" => Shape::Shared,
                    _ if pattern.ends_with("/**") => Shape::Whole,
                    _ => Shape::Prefix,
                };
                let top = expand(pattern.trim_end_matches(['*', '/']), home);
                zones.push(Zone { kind, shape, top: [&top.literal, top.pattern.as_bytes()].concat() });
            }
        }
        let is_wide = |dir: &[u8]| dir.len() <= 1 || is_below(home, dir) || is_below(host.cwd, dir);
        zones.extend(
            session
                .caches
                .iter()
                .filter(|dir| !is_wide(dir))
                .map(|dir| Zone::shared(ZoneKind::Cache, dir.clone())),
        );
        zones.extend(
            host.temp_dirs
                .iter()
                .filter(|dir| dir.len() > 1)
                .map(|dir| Zone::new(ZoneKind::Temporary, dir.clone())),
        );
        // The siblings of a PATH directory, such as lib, belong to the same toolchain.
        for dir in &host.path_dirs {
            let around = dir.strip_suffix(b"/bin").or_else(|| dir.strip_suffix(b"/sbin"));
            let around =
                around.filter(|dir| dir.iter().filter(|byte| **byte == b'/').count() > 1 && !is_wide(dir));
            let known = find(&zones, dir).kind;
            let local = [home, b"/.local"].concat();
            let top = around.filter(|around| **around != *local).unwrap_or(dir);
            if matches!(known, ZoneKind::Home | ZoneKind::OtherHome | ZoneKind::Elsewhere) && !is_wide(top) {
                zones.push(Zone::new(ZoneKind::Toolchain, top));
            }
        }
        // Everything inside the project belongs to the project.
        zones.retain(|zone| project.as_ref().is_none_or(|project| !is_below(&zone.top, project)));
        let tops = host.persistence_sites.workspaces.iter().filter(|top| {
            project
                .as_ref()
                .is_some_and(|project| top != &project && is_below(project, top) && !is_wide_for(top, home))
        });
        zones.extend(tops.map(|top| Zone::new(ZoneKind::Repository, top.clone())));
        zones.extend(project.iter().map(|project| Zone::new(ZoneKind::Project, project.clone())));
        Zones { zones, home: home.to_vec(), project }
    }

    /// The innermost zone that contains a path.
    pub(super) fn find(&self, path: &[u8]) -> &Zone {
        find(&self.zones, path)
    }

    /// Whether a directory contains a cache zone.
    pub(super) fn is_around_a_cache(&self, dir: &[u8]) -> bool {
        self.zones.iter().any(|zone| zone.kind == ZoneKind::Cache && is_below(&zone.top, dir))
    }

    /// Whether a directory is too broad to be opened as a whole: the root, a home, their direct children, everything
    /// around these, and hidden names in the home.
    pub(super) fn is_too_much(&self, dir: &[u8]) -> bool {
        let depth = |path: &[u8]| path.iter().filter(|byte| **byte == b'/').count();
        if depth(dir) < 2 || is_below(&self.home, dir) {
            return true;
        }
        match dir.strip_prefix(&*self.home) {
            Some(rest) => depth(rest) < 2 || rest.starts_with(b"/."),
            None => false,
        }
    }
}

fn is_wide_for(dir: &[u8], home: &[u8]) -> bool {
    dir.len() <= 1 || is_below(home, dir) || templates::secret_in(dir, home).is_some()
}

fn find<'z>(zones: &'z [Zone], path: &[u8]) -> &'z Zone {
    let holding = zones.iter().filter(|zone| zone.holds(path));
    // Of two zones with the same directory, the later one is more specific.
    holding.max_by_key(|zone| zone.top.len()).unwrap_or(&zones[0])
}

/// The start directory, or the top of its repository if the session wrote to the repository outside the start
/// directory. `None` for a home or a directory around one.
fn project(session: &Session<'_>) -> Option<Vec<u8>> {
    let host = session.host;
    if is_wide_for(host.cwd, host.home) {
        return None;
    }
    let writes_in = |top: &[u8]| {
        session.observations.iter().any(|seen| {
            seen.used.meets(Used::WRITTEN) && is_below(&seen.path, top) && !is_below(&seen.path, host.cwd)
        })
    };
    let mut tops: Vec<&Vec<u8>> = host.persistence_sites.workspaces.iter().collect();
    tops.sort_by_key(|top| std::cmp::Reverse(top.len()));
    let top = tops.into_iter().find(|top| {
        is_below(host.cwd, top)
            && top.as_slice() != host.cwd
            && !is_wide_for(top, host.home)
            && writes_in(top)
    });
    Some(top.map_or(host.cwd, Vec::as_slice).to_vec())
}

/// Whether the path is temporary: nothing exists there at the end, so the next session may use another name.
pub(super) fn is_gone(final_state: FinalState) -> bool {
    final_state == FinalState::Nothing
}

/// The parent directory of a path; `/` for a direct child of the root.
pub(super) fn around(path: &[u8]) -> &[u8] {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(end) if end > 0 => &path[..end],
        _ => b"/",
    }
}
