//! `init --fast`: a template in whole directories and single files, so that the kernel decides about reads.
//!
//! Landlock knows only directories with all that is in them, and files. A rule for anything else, or with
//! exceptions, is replaced by the directories and files that it grants as a whole on this machine.

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use guard_policy::text::shown;
use guard_policy::{
    Draft, HARMLESS_DEVICES, HierarchyKind, MAX_HIERARCHIES, PartialRead, Permission, Policy, ReadPart,
    Scope, known,
};
use guard_supervisor::landlock::Names;

use super::InitError;

/// The maximum number of rounds. Each round takes apart what turned out not to be whole.
const MAX_ROUNDS: usize = 16;
/// The maximum number of rules that the summary names.
const MAX_NAMED: usize = 12;

/// What is lost in a policy under which the kernel decides about reads.
#[derive(Debug)]
pub struct FastPolicy {
    /// The rules that are replaced by their whole parts, with the number of parts.
    replaced: Vec<(String, usize)>,
    /// The rules of which nothing is left.
    left_out: Vec<String>,
    /// Directories and files that a rule grants, but for which a floor has no room.
    without_room: Vec<Vec<u8>>,
}

impl FastPolicy {
    /// Makes a fast policy of a template's text. It asks nobody. Also returns the policy's text.
    ///
    /// # Errors
    /// When the policy cannot be compiled, or has no whole parts that the kernel could decide about.
    pub fn new(
        text: &str,
        home: &Path,
        compile: impl Fn(&str) -> Result<Policy, InitError>,
    ) -> Result<(String, FastPolicy), InitError> {
        let not_fast = |reason: &str| InitError::NotFast(reason.to_owned());
        let invalid = |_| not_fast("the template is not a valid policy");
        let mut rules = DraftRules { draft: Draft::parse("guard.json", text).map_err(invalid)?, home };
        rules.draft.set_ask_off();
        rules.draft.set_base_off();
        // These devices are in the built-in base, which this policy leaves out.
        HARMLESS_DEVICES.iter().for_each(|device| rules.set(&String::from_utf8_lossy(device), "rw-"));
        let names = Names::read();
        let list = |directory: &[u8]| names.list(directory);
        let (mut replaced, mut left_out, mut without_room) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..MAX_ROUNDS {
            let policy = compile(rules.draft.text())?;
            let partial = policy.partial_reads(&list);
            if partial.is_empty() {
                let classes = policy.tiers(&list).classes;
                let text = rules.draft.text().to_owned();
                return match classes.read.reason() {
                    None => Ok((text, FastPolicy { replaced, left_out, without_room })),
                    Some(reason) => Err(not_fast(reason)),
                };
            }
            if let Some(workspace) = partial.iter().find(|rule| rule.pattern.starts_with("${workspace}")) {
                return Err(not_fast(&workspace.reason));
            }
            for PartialRead { pattern, parts, beyond, .. } in partial {
                rules.set(&pattern, "---");
                without_room.extend(beyond);
                match parts.iter().filter(|part| rules.add(part)).count() {
                    0 => left_out.push(pattern),
                    parts => replaced.push((pattern, parts)),
                }
            }
        }
        Err(not_fast("its rules do not come apart into whole directories"))
    }

    /// Reports what is lost.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "fast: the kernel decides about reads, by whole directories and single files")?;
        writeln!(
            out,
            "  nobody is asked, and nobody is told of a read that is refused: `why --read PATH` explains it"
        )?;
        writeln!(
            out,
            "  /proc, /dev/tty and /dev/shm are closed; so is what appears later beside the directories and files that \
             are named"
        )?;
        for (pattern, parts) in self.replaced.iter().take(MAX_NAMED) {
            let parts = if *parts == 1 { "1 part".to_owned() } else { format!("{parts} parts") };
            writeln!(out, "  in parts   {}: {parts}", shown(pattern.as_bytes()))?;
        }
        if !self.left_out.is_empty() {
            writeln!(out, "  left out   {}", first(self.left_out.iter().map(String::as_bytes)))?;
        }
        if !self.without_room.is_empty() {
            writeln!(
                out,
                "  no room    {}: a policy has at most {MAX_HIERARCHIES} parts",
                first(self.without_room.iter().map(Vec::as_slice))
            )?;
        }
        writeln!(
            out,
            "  make it again with --force when these directories are there, or others are installed"
        )
    }
}

/// Names the first ones, and how many more there are.
fn first<'n>(names: impl ExactSizeIterator<Item = &'n [u8]>) -> String {
    let more = names.len().saturating_sub(MAX_NAMED);
    let named: Vec<_> = names.take(MAX_NAMED).map(shown).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    named.join(" ") + &more
}

/// The rules of a policy that is being written.
struct DraftRules<'h> {
    draft: Draft,
    home: &'h Path,
}

impl DraftRules<'_> {
    /// Sets what a valid pattern grants.
    fn set(&mut self, pattern: &str, permission: &str) {
        if let Some(permission) = Permission::parse(permission) {
            // The pattern is the template's, or comes from `known::hierarchy`.
            let _ = self.draft.set_rule(&Scope::Everyone, pattern, permission);
        }
    }

    /// Adds a rule for a part. Returns false if no pattern names that part alone.
    fn add(&mut self, part: &ReadPart) -> bool {
        let Some(below) = known::hierarchy(&part.hierarchy.path, self.home.as_os_str().as_bytes()) else {
            return false;
        };
        let pattern = match part.hierarchy.kind {
            HierarchyKind::Directory => &*below,
            HierarchyKind::File => below.strip_suffix("/**").unwrap_or(&below),
        };
        self.draft.set_rule(&Scope::Everyone, pattern, part.permission).is_ok()
    }
}
