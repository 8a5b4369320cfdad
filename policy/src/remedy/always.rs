//! What "allow always" saves: only what was missing, and never anything that would also allow something else.

use std::fmt;

use crate::network::ASKED_NAME;
use crate::normalize;
use crate::paths::exec_roots::is_below;
use crate::paths::expansion::file_problem as problem;
use crate::paths::saved_rules::FileRule;
use crate::programs::allow_always::{AllowAlways, BoundEntry, Once, derive};
use crate::programs::data_only::is_data_only;
use crate::programs::named_files::values;
use crate::programs::script::{InputKind, mentioned_files, script_operands};
use crate::programs::{Listed, absolute};
use crate::{
    Access, AddressClass, Ask, Bits, Exec, Grant, Outcome, Policy, Reason, Request, Rights, WebEndpoint,
    decide,
};

/// What "allow always" saves for one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Always {
    /// Saves all of these. A question may need several: for a script and its interpreter, or an entry and the bit `x`.
    Saves {
        /// Exactly what this question needs.
        narrow: Vec<Saving>,
        /// The second choice: the same for the whole directory of each file. Empty if there is none.
        directory: Vec<Saving>,
    },
    /// Saves nothing. Holds the reason, in a sentence.
    Never(String),
}

/// One item to save. `Display` describes it exactly, for a human.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Saving {
    /// An entry of the allowlist.
    Entry(BoundEntry),
    /// A rule for files.
    Rule(FileRule),
    /// An origin of the Web: scheme, host and port.
    Origin(String),
}

/// Whether an approval may hold for later calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// It may, for some time or always.
    Allowed,
    /// The policy asks each time (`ask: always`, `strictInlineEval`).
    AskedEachTime,
}

/// What is at a path, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisk {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// Anything else, or nothing.
    Other,
}

/// What is known beside the policy when "always" is offered.
pub trait AlwaysContext {
    /// What is at a path.
    fn on_disk(&self, path: &[u8]) -> OnDisk;

    /// The symbolic links that an absolute path leads through, and where it ends. Names before a `..` count as the kernel
    /// reads them.
    fn leads_through(&self, path: &[u8]) -> Vec<Vec<u8>>;

    /// Whether an answer lets the tree write at a real path, or has let it write there.
    fn is_let_write(&self, path: &[u8]) -> bool;
}

/// Only what is at a path: for use without kept answers and without links.
impl<F: Fn(&[u8]) -> OnDisk> AlwaysContext for F {
    fn on_disk(&self, path: &[u8]) -> OnDisk {
        self(path)
    }

    fn leads_through(&self, _: &[u8]) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn is_let_write(&self, _: &[u8]) -> bool {
        false
    }
}

impl fmt::Display for Saving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Saving::Entry(entry) => {
                write!(f, "allowlist \"{}\" with these arguments in this directory", entry.pattern)
            }
            Saving::Rule(rule) => rule.fmt(f),
            Saving::Origin(origin) => write!(f, "host {origin}"),
        }
    }
}

/// OpenClaw's words (2026.9.6) after "allow-always is unavailable".
const EACH_TIME: &str = "the effective policy requires approval every time";
const NOTHING_MISSED: &str = "no saved rule or entry would change the answer";
const PERSISTENCE: &str = "it would run outside the guard, so it is asked about each time";
const IN_POLICY: &str =
    "addresses that are not public are allowed in guard.json (network.connect.allow, network.web.private)";
const WRITABLE_LIBRARY: &str = "a guarded run may write the library, so it could replace it";

/// Why no pattern matches a path alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LiteralError {
    /// The path is not text.
    #[error("its path is not UTF-8, but a rule must be")]
    NotText,
    /// A character of the path is a wildcard.
    #[error("its path contains * or ?, which a rule would treat as a pattern")]
    Wildcard,
    /// The path is that of a process in /proc.
    #[error("another process may get that id later")]
    OfProcess,
    /// The path is relative, or a pattern for it would match more.
    #[error("no rule can match only its path")]
    NoRule,
}

/// Returns what "allow always" saves for the requests of one question. Requests that are already allowed need nothing.
/// If one of the others cannot be saved, nothing is: the question would be asked again anyway. `world` reports what the
/// policy does not know; the second choice for a directory is that directory itself.
pub fn always(policy: &Policy, requests: &[Request<'_>], world: &dyn AlwaysContext) -> Always {
    let mut savings = Savings::default();
    for request in requests {
        let verdict = decide(policy, request);
        if verdict.outcome != Outcome::Ask {
            continue;
        }
        let added = match request {
            _ if verdict.reason.is_persistence() => Err(PERSISTENCE.to_owned()),
            _ if policy.repeats(request) == Repeat::AskedEachTime => Err(EACH_TIME.to_owned()),
            Request::Exec(exec) => savings.exec(policy, exec, world),
            Request::File { path, access } | Request::FileAt { path, access, .. } => {
                savings.file(policy, path, *access, world)
            }
            // The guard never asks about these.
            Request::Link(_)
            | Request::GitPaths { .. }
            | Request::GitConfig { .. }
            | Request::CodexConfig { .. }
            | Request::Sized { .. }
            | Request::Connect(_)
            | Request::Bind { .. }
            | Request::Web(_)
            | Request::Lookup(_)
            | Request::Sockets => continue,
        };
        if let Err(why) = added {
            return Always::Never(why);
        }
    }
    let Savings { narrow, directory } = savings;
    if narrow.is_empty() {
        return Always::Never(NOTHING_MISSED.to_owned());
    }
    Always::Saves { narrow, directory: directory.0.unwrap_or_default() }
}

impl Always {
    /// Returns what "allow always" saves if the program also runs code from these inputs. Nothing is saved if an entry
    /// would allow other code, too. A terminal does not count, because there a human types the code each time.
    #[must_use]
    pub fn with_inputs(self, inputs: impl IntoIterator<Item = InputKind>) -> Always {
        match self {
            Always::Saves { .. } if inputs.into_iter().any(|kind| kind != InputKind::Terminal) => {
                Always::Never(Once::Input.text().to_owned())
            }
            always => always,
        }
    }
}

impl Policy {
    /// Whether an approval of this request may hold for later ones.
    pub fn repeats(&self, request: &Request<'_>) -> Repeat {
        let Request::Exec(exec) = request else {
            let is_persistence = decide(self, request).reason.is_persistence();
            return if is_persistence { Repeat::AskedEachTime } else { Repeat::Allowed };
        };
        match self.listed(exec) {
            Listed::Code(_) => Repeat::AskedEachTime,
            Listed::Carrier(_) => Repeat::Allowed,
            Listed::Yes(_) | Listed::Miss if self.programs.ask == Ask::Always => Repeat::AskedEachTime,
            Listed::Yes(_) | Listed::Miss => Repeat::Allowed,
        }
    }

    fn listed(&self, exec: &Exec<'_>) -> Listed<'_> {
        self.programs.listed(exec, self.writers(exec))
    }
}

#[derive(Default)]
struct Savings {
    narrow: Vec<Saving>,
    directory: Directory,
}

/// The second choice so far; `None` once a part of the question has none.
struct Directory(Option<Vec<Saving>>);

impl Default for Directory {
    fn default() -> Directory {
        Directory(Some(Vec::new()))
    }
}

impl Savings {
    fn exec(&mut self, policy: &Policy, exec: &Exec<'_>, world: &dyn AlwaysContext) -> Result<(), String> {
        self.directory.0 = None;
        if let Listed::Miss = policy.listed(exec) {
            if runs_what_the_tree_writes(policy, exec, world) {
                return Err(Once::Writable.text().to_owned());
            }
            match derive(exec, policy.strict_inline_eval()) {
                AllowAlways::Once { why } => return Err(why.text().to_owned()),
                AllowAlways::Entry(_) if may_run_an_operand(policy, exec, world) => {
                    return Err(Once::Operand.text().to_owned());
                }
                AllowAlways::Entry(entry) => add(&mut self.narrow, Saving::Entry(entry)),
            }
        }
        let found = policy.map.find_program(exec.path);
        if found.start().0 == Grant::Ask {
            // The rule would be for whatever the tree puts there later.
            if is_the_trees(policy, exec.path, world) {
                return Err(Once::Writable.text().to_owned());
            }
            // Where the tree may write after asking, a start takes the right to read, too.
            let r = if found.is_protected() { Grant::Yes } else { found.rights.r };
            let missing = Rights { r, w: Grant::Yes, x: found.rights.x };
            if let Some(bits) = Bits::from_rights(missing, |grant| grant == Grant::Ask) {
                add(&mut self.narrow, Saving::Rule(FileRule { pattern: only(exec.path)?, bits }));
            }
        }
        Ok(())
    }

    fn file(
        &mut self,
        policy: &Policy,
        path: &[u8],
        access: Access,
        world: &dyn AlwaysContext,
    ) -> Result<(), String> {
        let rights = policy.rights(path);
        let grant_of = |bit, grant| if access.contains(bit) { grant } else { Grant::No };
        let requested = Rights {
            r: grant_of(Access::READ, rights.r),
            w: grant_of(Access::WRITE, rights.w),
            x: grant_of(Access::MAP, rights.x),
        };
        let Some(bits) = Bits::from_rights(requested, |grant| grant == Grant::Ask) else { return Ok(()) };
        if requested.x == Grant::Ask && is_library_of_the_tree(policy, path, world) {
            return Err(WRITABLE_LIBRARY.to_owned());
        }
        let pattern = only(path)?;
        let is_directory = world.on_disk(path) == OnDisk::Directory;
        let directory = if is_directory { &*pattern } else { parent(&pattern) };
        let wide = hierarchy(directory).filter(|_| !policy.is_home_or_above(directory.as_bytes()));
        match (wide, &mut self.directory.0) {
            (Some(pattern), Some(wide)) => add(wide, Saving::Rule(FileRule { pattern, bits })),
            _ => self.directory.0 = None,
        }
        add(&mut self.narrow, Saving::Rule(FileRule { pattern, bits }));
        Ok(())
    }
}

/// Returns whether the tree may write at this path without being asked, by the policy or by an answer, or whether an answer
/// has let it write there.
fn is_the_trees(policy: &Policy, path: &[u8], world: &dyn AlwaysContext) -> bool {
    policy.map.find_program(path).is_the_trees() || world.is_let_write(path)
}

/// Returns whether the tree may write this library without being asked, by the policy or by an answer, or an earlier run
/// could. What persistence withholds does not count, as when the library is mapped.
fn is_library_of_the_tree(policy: &Policy, path: &[u8], world: &dyn AlwaysContext) -> bool {
    policy.map.may_change_library(path, &policy.map.find_library(path)) || world.is_let_write(path)
}

/// Returns whether the tree may write, unasked, the program or a file that it may run.
fn runs_what_the_tree_writes(policy: &Policy, exec: &Exec<'_>, world: &dyn AlwaysContext) -> bool {
    let operands = script_operands(exec.path, exec.argv);
    let mentioned = mentioned_files(exec.path, exec.argv, &operands);
    let mut files = operands.into_files(exec.argv);
    let is_one = |path: &Vec<u8>| is_the_trees(policy, path, world);
    is_the_trees(policy, exec.path, world)
        || files.any(|file| places(exec, &file, world).iter().any(is_one))
        || mentioned.words.iter().chain(&mentioned.more).any(|word| {
            let places = places(exec, word, world);
            places.iter().any(is_one) && places.iter().any(|path| world.on_disk(path) == OnDisk::File)
        })
}

/// Returns what "allow always" saves for a question about a host of the Web: the host with its scheme and port, and never
/// what its name leads to. `reason` is why the host is asked about. The second choice is all hosts below its domain
/// ([`WebEndpoint::domain`]).
pub fn always_host(endpoint: &WebEndpoint, domain: Option<&str>, reason: &Reason<'_>) -> Always {
    let is_private = endpoint.address().map(|address| AddressClass::from_ip(address.ip()));
    let is_private = is_private.is_some_and(|class| class != AddressClass::Public);
    if reason.path != ASKED_NAME || is_private || endpoint.is_local_name() {
        return Always::Never(IN_POLICY.to_owned());
    }
    let domain = domain.map(|domain| endpoint.origin_of(domain));
    Always::Saves {
        narrow: vec![Saving::Origin(endpoint.origin().to_string())],
        directory: domain.into_iter().map(|origin| Saving::Origin(origin.to_string())).collect(),
    }
}

/// Returns what "allow always" saves for a connection to an address that is not public: nothing.
pub fn always_address() -> Always {
    Always::Never(IN_POLICY.to_owned())
}

/// Returns whether the arguments name a file that the tree may write unasked, unless the program is known to treat files as
/// data. A descriptor counts as such a file: it is another file next time.
fn may_run_an_operand(policy: &Policy, exec: &Exec<'_>, world: &dyn AlwaysContext) -> bool {
    let arguments = exec.argv.get(1..).unwrap_or_default();
    let may_run = |file: &[u8]| {
        let places = places(exec, file, world);
        let is_file = || places.iter().any(|path| world.on_disk(path) == OnDisk::File);
        places.iter().any(|path| differs_by_process(path))
            || places.iter().any(|path| is_the_trees(policy, path, world)) && is_file()
            // With a file that an earlier run could write, the entry would not count.
            || places.iter().any(|path| policy.map.find_program(path).is_of_earlier_run())
    };
    !is_data_only(exec.path, arguments)
        && arguments.iter().flat_map(|argument| values(argument)).any(|file| may_run(&file))
}

/// Returns whether the file to which a path leads depends on a process or on its descriptors.
fn differs_by_process(path: &[u8]) -> bool {
    let names: [&[u8]; 6] =
        [b"/dev/fd", b"/dev/stdin", b"/dev/stdout", b"/dev/stderr", b"/proc/self", b"/proc/thread-self"];
    names.into_iter().any(|name| is_below(path, name))
        || path.strip_prefix(b"/proc/").and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit)
}

/// Returns where an argument leads by its text alone, by each link, and in the end.
fn places(exec: &Exec<'_>, file: &[u8], world: &dyn AlwaysContext) -> Vec<Vec<u8>> {
    let path = absolute(exec, file);
    let mut places = world.leads_through(&path);
    places.push(normalize::posix(&path));
    places
}

/// Adds an item unless it is there already. Merges rules with the same pattern.
fn add(savings: &mut Vec<Saving>, new: Saving) {
    if let Saving::Rule(FileRule { pattern, bits }) = &new {
        for saving in savings.iter_mut() {
            if let Saving::Rule(rule) = saving
                && rule.pattern == *pattern
            {
                rule.bits = rule.bits.union(*bits);
                return;
            }
        }
    }
    if !savings.contains(&new) {
        savings.push(new);
    }
}

/// Like [`literal`], but fails with the reason why nothing is saved.
fn only(path: &[u8]) -> Result<String, String> {
    literal(path).map_err(|error| error.to_string())
}

/// The pattern that matches this real path and nothing else. Fails for a path with a wildcard: patterns have no way to
/// quote one.
pub(crate) fn literal(path: &[u8]) -> Result<String, LiteralError> {
    let text = str::from_utf8(path).map_err(|_| LiteralError::NotText)?;
    if text.contains(['*', '?']) {
        return Err(LiteralError::Wildcard);
    }
    if text.strip_prefix("/proc/").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) {
        return Err(LiteralError::OfProcess);
    }
    // A trailing slash would also match everything below.
    if !text.starts_with('/') || text.ends_with('/') || problem(text).is_some() {
        return Err(LiteralError::NoRule);
    }
    Ok(text.to_owned())
}

/// Returns the widest directory for which the pattern that "always" saves may be edited. `None` if it may not be
/// edited. It may be if it is the pattern of a single rule for reading or writing a file, but never for the home
/// directory or one above it. Libraries are not saved by pattern: the tree could bring another one.
pub fn edited_below(policy: &Policy, always: &Always) -> Option<String> {
    let Always::Saves { narrow, .. } = always else { return None };
    let [Saving::Rule(rule)] = &narrow[..] else { return None };
    let mut above = rule.pattern.match_indices('/').map(|(end, _)| &rule.pattern[..end]);
    let may_be_for =
        |directory: &&str| hierarchy(directory).is_some() && !policy.is_home_or_above(directory.as_bytes());
    above.find(may_be_for).filter(|_| !rule.bits.contains(Bits::X)).map(str::to_owned)
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// The pattern for a directory and everything below it. `None` for the whole system and for all processes.
fn hierarchy(directory: &str) -> Option<String> {
    let pattern = format!("{directory}/**");
    (!matches!(directory, "" | "/proc") && problem(&pattern).is_none()).then_some(pattern)
}
