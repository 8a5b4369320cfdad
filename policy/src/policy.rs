//! The compiled policy and what the supervisor asks of it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use crate::config::approvals::{Approvals, TokenFileError};
use crate::config::audit::AuditSettings;
use crate::config::elevated::ElevatedSettings;
use crate::config::layers::ExtendedTemplate;
use crate::config::limits::Limits;
use crate::config::node::NodeSettings;
use crate::environment::{Inherit, Inherited, Variable, inherited, prepended};
use crate::network::{Network, WebRules};
use crate::paths::ceilings::Ceilings;
use crate::paths::earlier_runs::{EarlierRuns, WritablePlace};
use crate::paths::entry::CompiledPattern;
use crate::paths::exec_roots::is_below;
use crate::paths::glob::Glob;
use crate::paths::path_rules::PathRules;
use crate::paths::read_bound::ReadBound;
use crate::programs::Programs;
use crate::programs::allow_always::StrictInlineEval;
use crate::tools::ToolLists;
use crate::verdict::{CompiledReason, Reason};
use crate::{Ask, Bits, GitPart, Grant, Page, Rights, Security, Shape, Source};

/// A document compiled for one agent on one host. Immutable.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) agent: String,
    pub(crate) home: Vec<u8>,
    pub(crate) workspace: Option<Vec<u8>>,
    pub(crate) map: PathRules,
    pub(crate) read_bound: Option<ReadBound>,
    pub(crate) programs: Programs,
    pub(crate) roots: Vec<Vec<u8>>,
    pub(crate) timeout_ms: u64,
    pub(crate) running_notice_ms: u64,
    pub(crate) approvals: Approvals,
    pub(crate) gateway_token: Option<Result<Vec<u8>, TokenFileError>>,
    pub(crate) unix_datagram: bool,
    pub(crate) network: Network,
    pub(crate) tools: ToolLists,
    pub(crate) allow_ptrace: bool,
    pub(crate) audit: AuditSettings,
    pub(crate) node: NodeSettings,
    pub(crate) limits: Limits,
    pub(crate) elevated: ElevatedSettings,
    pub(crate) inherit: Inherit,
    pub(crate) path_prepend: Vec<Vec<u8>>,
    pub(crate) warnings: Vec<String>,
    /// The template that guard.json extends. It is kept to explain the policy.
    pub(crate) extended: Option<Arc<ExtendedTemplate>>,
}

impl Policy {
    /// The agent it was compiled for.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// What `${workspace}` stands for. `None` if guard.json does not name it, or no directory may be the workspace.
    pub fn workspace(&self) -> Option<&[u8]> {
        self.workspace.as_deref()
    }

    /// Whether a real path is the workspace, or lies in it.
    pub fn is_in_workspace(&self, path: &[u8]) -> bool {
        self.workspace().is_some_and(|workspace| is_below(path, workspace))
    }

    /// The same policy, under which no program may start: what the operator sets for a running session.
    #[must_use]
    pub fn without_programs(&self) -> Policy {
        let mut policy = self.clone();
        policy.programs.security = Security::Deny;
        policy.programs.fallback = Security::Deny;
        policy.programs.reasons.denied = CompiledReason {
            source: Source::Operator,
            path: "session".to_owned(),
            rule: "session set --security deny".to_owned(),
            text: "the operator has set the security of this session to deny: no program may start"
                .to_owned(),
        };
        policy
    }

    /// `exec.security`, tightened by the overrides.
    pub fn security(&self) -> Security {
        self.programs.security
    }

    /// `exec.ask`, tightened by the overrides.
    pub fn ask(&self) -> Ask {
        self.programs.ask
    }

    /// `exec.askFallback`, never wider than the security.
    pub fn ask_fallback(&self) -> Security {
        self.programs.fallback
    }

    /// `exec.strictInlineEval`.
    pub fn strict_inline_eval(&self) -> StrictInlineEval {
        if self.programs.strict_inline_eval.is_some() { StrictInlineEval::On } else { StrictInlineEval::Off }
    }

    /// `exec.runningNoticeMs`: how long an approved program may run until a notice says so.
    pub fn running_notice_ms(&self) -> u64 {
        self.running_notice_ms
    }

    /// `exec.timeoutMs`: how long a human has to answer.
    pub fn timeout_ms(&self) -> u64 {
        self.timeout_ms
    }

    /// `approvals`: how a human is asked.
    pub fn approvals(&self) -> &Approvals {
        &self.approvals
    }

    /// The real path of `approvals.gateway.tokenFile`, which the tree cannot open; `Err` says why it is not to be used.
    /// `None` where guard.json names none.
    pub fn gateway_token(&self) -> Option<Result<&[u8], &TokenFileError>> {
        self.gateway_token.as_ref().map(|path| path.as_deref())
    }

    /// `permissions.filesystem.maxReadBytes`, or `tools.read.maxSizeBytes` if that is less: the largest file that is opened
    /// to be read ([`crate::Request::Sized`]), in bytes. `None` where there is no bound.
    pub fn max_read_bytes(&self) -> Option<u64> {
        self.read_bound.as_ref().map(ReadBound::bytes)
    }

    /// The key that bounds what is read.
    pub fn read_bound_key(&self) -> Option<&str> {
        self.read_bound.as_ref().map(ReadBound::key)
    }

    /// Whether there is a network: a sandbox may have none.
    pub fn has_network(&self) -> bool {
        !self.network.is_closed()
    }

    /// `network.unixDatagram`.
    pub fn unix_datagram(&self) -> bool {
        self.unix_datagram
    }

    /// `tools`: the step of guard.json in the policy of OpenClaw's tools.
    pub fn tools(&self) -> &ToolLists {
        &self.tools
    }

    /// `exec.allowPtrace`.
    pub fn allow_ptrace(&self) -> bool {
        self.allow_ptrace
    }

    /// `node`.
    pub fn node(&self) -> &NodeSettings {
        &self.node
    }

    /// `audit`.
    pub fn audit(&self) -> &AuditSettings {
        &self.audit
    }

    /// `limits`: how much a session may take.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// What the command inherits of the operator's variables, by `exec.environment` and `exec.pathPrepend`.
    pub fn environment(&self, operators: impl IntoIterator<Item = Variable>) -> Inherited {
        let mut inherited = inherited(operators, self.inherit);
        inherited.env = prepended(inherited.env, &self.path_prepend);
        inherited
    }

    /// Whether `exec.environment` and `exec.pathPrepend` are those of the other policy.
    pub fn hands_in_the_same(&self, other: &Policy) -> bool {
        self.inherit == other.inherit && self.path_prepend == other.path_prepend
    }

    /// What the operator should know: keys that are read but not acted on, patterns that match
    /// nothing, rules that could not be followed.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The directories (and single files) whose programs may start, resolved where they exist;
    /// always with those of the loader and the libraries. None lies below another.
    pub fn exec_roots(&self) -> Vec<Vec<u8>> {
        self.roots.clone()
    }

    /// True when a program at this real path lies below an exec root. A program outside cannot start while the floor is
    /// in force, approved or not.
    pub fn within_exec_roots(&self, path: &[u8]) -> bool {
        self.roots.iter().any(|root| is_below(path, root))
    }

    /// What a real path grants.
    pub fn rights(&self, path: &[u8]) -> Rights {
        self.map.find(path).rights
    }

    /// True when the tree may write at this real path, or may after asking, or an earlier run could. Paths that only
    /// persistence protects count as writable: no program is trusted more for that.
    pub fn writable(&self, path: &[u8]) -> bool {
        !self.map.find_program(path).is_protected()
    }

    /// True when the tree may write at this real path without asking. Paths that persistence protects count as
    /// writable, because other policies may not protect them.
    pub fn writable_unasked(&self, path: &[u8]) -> bool {
        self.map.find(path).is_the_trees()
    }

    /// Returns the places in which a rule or a saved answer lets the tree write.
    pub fn writable_places(&self) -> Vec<WritablePlace> {
        let is_writable = |rule: &&CompiledPattern| rule.rights.w == Grant::Yes;
        let rules = self.map.rules().iter().filter(is_writable).map(|rule| &rule.glob);
        let answers = self.map.answers().iter().filter(|answer| answer.bits.contains(Bits::W));
        let globs = rules.chain(answers.map(|answer| &answer.glob));
        let place = |glob: &Glob| match glob.wildcards() {
            deep if deep == "**" && glob.literal().ends_with(b"/") => glob.top().to_vec().into(),
            pattern => WritablePlace { literal: glob.literal().to_vec(), pattern },
        };
        let mut places: Vec<WritablePlace> = globs.map(place).collect();
        if self.map.default().w == Grant::Yes {
            places.push(b"/".to_vec().into());
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    /// True when the policy knows that an earlier run could write at this real path.
    pub fn knows_written(&self, path: &[u8]) -> bool {
        self.map.earlier_runs().may_write(path)
    }

    /// Returns the earlier runs that the policy knows.
    pub fn earlier_runs(&self) -> &EarlierRuns {
        self.map.earlier_runs()
    }

    /// Returns the policy for a host on which runs could write these places, too.
    pub fn with_written(&self, places: impl IntoIterator<Item = impl Into<WritablePlace>>) -> Policy {
        let mut policy = self.clone();
        policy.map.add_written(places);
        policy
    }

    /// Why no symbolic link may stand at a real path; `None` if one may. The reason is that something below the path is
    /// protected or denied. A link would put it elsewhere, where the tree could write it, or could read what is written there
    /// later, such as a token.
    pub fn keeps_below(&self, path: &[u8]) -> Option<Reason<'_>> {
        let protected = self.map.protected().any_below(path);
        protected.map(|entry| entry.reason.to_reason()).or_else(|| self.denied_below(path))
    }

    /// Why something strictly below a real path is denied.
    pub(crate) fn denied_below(&self, path: &[u8]) -> Option<Reason<'_>> {
        self.map.denied_below(path).map(|entry| entry.reason.to_reason())
    }

    /// The rights that everything strictly below a real path has at least.
    pub(crate) fn least_below(&self, path: &[u8]) -> Rights {
        self.map.least_below(path, |_| false)
    }

    /// True when something is protected by its shape, wherever it is: then no directory may be written as a whole.
    pub fn protects_shapes(&self) -> bool {
        !self.map.protected().shapes().is_empty()
    }

    /// What is protected by its shape in a real path.
    pub fn shapes<'p>(&self, path: &'p [u8]) -> Vec<Shape<'p>> {
        self.map.protected().shapes().all(path)
    }

    /// Whether a real path lies among installed packages, where only git's shapes count.
    pub fn lies_in_packages(path: &[u8]) -> bool {
        crate::paths::persistence::lies_in_packages(path)
    }

    /// Whether a real path lies among installed packages, and would be protected by its shape anywhere else.
    pub fn is_shipped(&self, path: &[u8]) -> bool {
        self.map.protected().shapes().is_shipped(path)
    }

    /// Why a shape is protected; `None` if its set is off.
    pub fn shape_reason(&self, shape: &Shape<'_>) -> Option<Reason<'_>> {
        self.map.protected().shapes().reason(shape.set).map(CompiledReason::to_reason)
    }

    /// What a directory or a link at this real path would lead to: something protected by its shape that may lie below.
    pub fn leads_to_shape<'p>(&self, path: &'p [u8]) -> Option<Shape<'p>> {
        self.map.protected().shapes().leads_to(path)
    }

    /// Every name on the way to something that is protected by its shape, without the names that hold a star. A
    /// directory that cannot be listed may have these names.
    pub fn names_of_shapes(&self) -> BTreeSet<Vec<u8>> {
        let patterns = self.map.protected().shapes().patterns();
        let names = patterns.iter().flat_map(|(pattern, ..)| pattern.split('/'));
        names.filter(|name| !name.contains('*')).map(|name| name.as_bytes().to_vec()).collect()
    }

    /// The directories around this real path, any of which may be a git directory.
    pub fn directories_around<'p>(&self, path: &'p [u8]) -> Vec<Shape<'p>> {
        self.map.protected().shapes().around(path)
    }

    /// What this real path is a protected part of, if a directory around it is a git repository.
    pub fn git_parts<'p>(&self, path: &'p [u8]) -> Vec<GitPart<'p>> {
        self.map.protected().shapes().git_parts(path)
    }

    /// What a directory at this real path would lead to: each directory around it that may be a git directory, and the one that
    /// holds what could lie below the path.
    pub fn git_leads<'p>(&self, path: &'p [u8]) -> Vec<(&'p [u8], &'p [u8])> {
        self.map.protected().shapes().git_leads(path)
    }

    /// The directory that a name made at this real path may turn into a git repository.
    pub fn marked_directory<'p>(&self, path: &'p [u8]) -> Option<&'p [u8]> {
        self.map.protected().shapes().marked(path)
    }

    /// The only TCP ports that may be connected to, in order; None where `network.connect.ports` does not say.
    pub fn tcp_ports(&self) -> Option<&[u16]> {
        self.network.ports()
    }

    /// Whether `network.web` is set: then only the guard's proxy leads to other hosts.
    pub fn has_web_rules(&self) -> bool {
        self.network.web_rules().is_some()
    }

    /// Whether this is a name server of the host. With `network.web` the guard's proxy answers in its place.
    pub fn is_resolver(&self, address: SocketAddr) -> bool {
        self.network.is_resolver(address)
    }

    /// `network.web.maxResponseBytes`: the longest response of plain HTTP.
    pub fn max_response_bytes(&self) -> Option<u64> {
        self.network.web_rules().and_then(WebRules::max_response_bytes)
    }

    /// `network.web.followRedirects`: whether redirects of plain HTTP reach the program.
    pub fn follows_redirects(&self) -> bool {
        self.network.web_rules().is_none_or(WebRules::follow_redirects)
    }

    /// Whether the verdict on an address depends on whether it is this host's. If so, the caller must find out
    /// [`crate::Connection::interface`]. `page` is where the approvals page is served.
    pub fn needs_interfaces(&self, address: SocketAddr, page: Page) -> bool {
        self.network.needs_interfaces(address, page)
    }

    /// Returns the directory that `~` stands for.
    pub fn home(&self) -> &[u8] {
        &self.home
    }

    /// True for the home directory and what contains it: too much to be opened by one answer.
    pub fn is_home_or_above(&self, directory: &[u8]) -> bool {
        is_below(&self.home, directory)
    }

    /// Every compiled denial, place of persistence, rule and base pattern, in the order of evaluation. Each is a
    /// sentence with its rights. A pattern with a link in it appears twice: as written, and with the link resolved.
    pub fn listing(&self) -> impl Iterator<Item = (&str, Rights)> {
        let map = &self.map;
        let of_projects = map.ceilings().iter().flat_map(Ceilings::entries);
        let all = map.denies().iter().chain(of_projects).chain(map.protected().entries());
        let all = all.chain(map.rules()).chain(map.base());
        all.map(|e| (e.reason.text.as_str(), e.rights))
    }
}
