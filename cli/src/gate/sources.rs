//! What the gate decides by: guard.json with the approvals stores, and openclaw.json. Each call first looks
//! whether one of them has changed; a new version that is invalid changes nothing.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use guard_openclaw::approvals_store::Stores;
use guard_openclaw::gateway::{self, Config, ConfigProblem};
use guard_openclaw::real_path::real;
use guard_openclaw::sandbox::SettingError;
use guard_policy::Policy;
use guard_policy::text::shown;
use guard_policy::tools::{Release, ToolIssue, ToolSettings};
use guard_supervisor::config::options::Options;
use guard_supervisor::config::{self, Disk, Paths, SetupError, Stamps};
use parking_lot::Mutex;
use serde_json::Value;

use super::plugin::{self, PluginState};
use crate::sandbox::directories;

/// The most agents whose policies are kept.
const MAX_AGENTS: usize = 256;
/// How long an agent's policy is used. It may go out of date unnoticed: links on the disk may lead elsewhere,
/// for instance.
const MAX_AGE: Duration = Duration::from_secs(10);
/// The age from which the next call has the policy compiled again. No call waits for that: 10,000 rules take
/// 0.2 s.
const REFRESH_AGE: Duration = Duration::from_secs(5);

/// The sources, and what was read last.
pub struct Sources {
    options: Options,
    paths: Paths,
    state: Mutex<ReadState>,
}

struct ReadState {
    stamps: Stamps,
    current: Arc<Loaded>,
    plugin: PluginState,
}

/// What was read, and the policies that were compiled from it.
pub struct Loaded {
    options: Options,
    paths: Paths,
    text: Option<Vec<u8>>,
    stores: Stores,
    content: Value,
    /// What openclaw.json says of tools.
    pub settings: ToolSettings,
    /// The release of OpenClaw that wrote openclaw.json.
    pub release: Release,
    policies: Mutex<HashMap<String, Arc<KeptPolicy>>>,
}

/// The place for an agent's policy.
#[derive(Default)]
struct KeptPolicy {
    last: Mutex<Option<Arc<AgentPolicy>>>,
    /// Held while the policy is compiled. Meanwhile, calls of this agent wait for that policy, so that each
    /// need not compile its own. Calls of other agents do not wait.
    compiling: Mutex<()>,
}

/// The policy of an agent.
pub struct AgentPolicy {
    /// guard.json, compiled for the agent.
    pub policy: Policy,
    /// The real paths of the directories in which the agent's relative paths may begin. The first is its
    /// workspace.
    pub bases: Vec<PathBuf>,
    projects: Stamps,
    /// How long compiling it took.
    took: Duration,
    is_refreshed: AtomicBool,
}

/// Why a source cannot be used, or a policy cannot be compiled from the sources.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// guard.json, or a project's file.
    #[error(transparent)]
    Policy(#[from] SetupError),
    /// openclaw.json, as a whole.
    #[error(transparent)]
    Openclaw(ConfigProblem),
    /// A key of openclaw.json about tools.
    #[error("{file}: {issue}")]
    Tools {
        /// openclaw.json.
        file: String,
        /// The key, and what is wrong with it.
        #[source]
        issue: ToolIssue,
    },
    /// A key of openclaw.json about directories.
    #[error(transparent)]
    Directory(#[from] SettingError),
}

/// A change that the operator should know of.
#[derive(Debug, PartialEq, Eq)]
pub struct Changed {
    /// The file.
    pub path: String,
    /// Whether the new content is in force.
    pub applied: bool,
    /// What is wrong with it.
    pub text: String,
}

impl Sources {
    /// Reads everything for the first time.
    ///
    /// # Errors
    /// What is invalid.
    pub fn read(options: &Options, paths: &Paths) -> Result<Sources, SourceError> {
        let stamps = stamps(paths);
        let current = Arc::new(Loaded::read(options, paths)?);
        let plugin = plugin::state(&paths.state_directory);
        let state = Mutex::new(ReadState { stamps, current, plugin });
        Ok(Sources { options: options.clone(), paths: paths.clone(), state })
    }

    /// Returns what is in force now. Calls `tell` for each change.
    pub fn current(&self, tell: impl Fn(Changed)) -> Arc<Loaded> {
        let mut state = self.state.lock();
        if state.stamps.are_current() {
            return Arc::clone(&state.current);
        }
        state.stamps = stamps(&self.paths);
        let plugin = plugin::state(&self.paths.state_directory);
        if plugin != state.plugin {
            let path = shown(plugin::directory(&self.paths.state_directory).as_os_str().as_bytes());
            tell(Changed { path, applied: plugin == PluginState::AsInstalled, text: plugin.to_string() });
            state.plugin = plugin;
        }
        let path = shown(self.paths.policy.as_os_str().as_bytes());
        match Loaded::read(&self.options, &self.paths) {
            Ok(loaded) if loaded.is_other(&state.current) => {
                state.current = Arc::new(loaded);
                tell(Changed { path, applied: true, text: String::new() });
            }
            Ok(_) => {}
            Err(error) => tell(Changed { path, applied: false, text: error.to_string() }),
        }
        Arc::clone(&state.current)
    }
}

/// The stamps of the files that every agent's policy is read from, and of the plugin.
fn stamps(paths: &Paths) -> Stamps {
    let plugin = plugin::files(&paths.state_directory);
    Stamps::read(paths.sources().into_iter().chain(plugin).collect())
}

impl Loaded {
    fn read(options: &Options, paths: &Paths) -> Result<Loaded, SourceError> {
        let text = config::read(paths, |path: &Path| std::fs::read(path))?;
        let stores = Stores::load(&paths.state_directory);
        let file = Config::read(&gateway::config(&paths.state));
        if let Some(problem) = file.problem() {
            return Err(SourceError::Openclaw(problem.clone()));
        }
        let content = file.content().cloned().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
        let wrong = |issue| SourceError::Tools { file: file.file.clone(), issue };
        let settings = ToolSettings::from_config(&content).map_err(wrong)?;
        if let Some(issue) = settings.issues().first() {
            return Err(wrong(issue.clone()));
        }
        let release = Release::that_wrote(file.text("meta.lastTouchedVersion"));
        let loaded = Loaded {
            options: options.clone(),
            paths: paths.clone(),
            text,
            stores,
            content,
            settings,
            release,
            policies: Mutex::default(),
        };
        // A policy that does not compile is refused as a whole.
        let main = loaded.settings.default_agent().to_owned();
        loaded.compiled(&main, &loaded.place(&main))?;
        Ok(loaded)
    }

    fn is_other(&self, than: &Loaded) -> bool {
        self.text != than.text || self.content != than.content || self.stores != than.stores
    }

    /// Returns the policy of an agent. It is compiled for the agent's first call, and again when a file of its
    /// projects has changed. While calls use it, a thread of its own also compiles it again every few seconds.
    ///
    /// # Errors
    /// Why the policy cannot be compiled.
    pub fn agent(self: &Arc<Self>, id: &str) -> Result<Arc<AgentPolicy>, SourceError> {
        let place = self.place(id);
        let Some(kept) = place.current() else { return self.compiled(id, &place) };
        if kept.is_due() && !kept.is_refreshed.swap(true, Ordering::Relaxed) {
            self.refresh(id, place);
        }
        Ok(kept)
    }

    fn place(&self, id: &str) -> Arc<KeptPolicy> {
        let mut policies = self.policies.lock();
        if policies.len() >= MAX_AGENTS && !policies.contains_key(id) {
            policies.clear();
        }
        Arc::clone(policies.entry(id.to_owned()).or_default())
    }

    /// Returns the policy of an agent that has no current policy: compiles it, unless another call has just
    /// done so.
    fn compiled(&self, id: &str, place: &KeptPolicy) -> Result<Arc<AgentPolicy>, SourceError> {
        let _compiling = place.compiling.lock();
        if let Some(by_another_call) = place.current() {
            return Ok(by_another_call);
        }
        let compiled = Arc::new(self.compile(id)?);
        *place.last.lock() = Some(Arc::clone(&compiled));
        Ok(compiled)
    }

    /// Compiles a policy on a thread of its own, so that no call waits. If that fails, the kept policy is used until
    /// it is too old; then a call reports why.
    fn refresh(self: &Arc<Self>, id: &str, place: Arc<KeptPolicy>) {
        let (loaded, id) = (Arc::clone(self), id.to_owned());
        let work = move || {
            let _compiling = place.compiling.lock();
            if let Ok(compiled) = loaded.compile(&id) {
                *place.last.lock() = Some(Arc::new(compiled));
            }
        };
        // If no thread can start, the call that finds the policy too old compiles it.
        let _ = std::thread::Builder::new().name("compile".to_owned()).spawn(work);
    }

    fn compile(&self, id: &str) -> Result<AgentPolicy, SourceError> {
        let directories = directories(&self.paths);
        let workspace = directories.agent_workspace(&self.content, id)?;
        let cwd = directories.agent_cwd(&self.content, id)?;
        let mut bases = vec![real(Path::new(&workspace))];
        bases.extend(cwd.map(|cwd| real(Path::new(&cwd))).filter(|cwd| *cwd != bases[0]));
        let mut paths = self.paths.at(&bases[0])?;
        // The stamps are taken before the files are read, so that a change during the read counts as a change.
        let projects = Stamps::read(paths.project_sources());
        let options = Options { agent: id.to_owned(), agent_is_named: true, ..self.options.clone() };
        config::settle_workspace(&options, &mut paths, self.text.as_deref(), &self.stores);
        let policy = config::compile(&options, &paths, Disk::Used, self.text.as_deref(), &self.stores)?;
        // For guarded runs, what this policy lets OpenClaw's tools write counts as written by the tree.
        let recorded = config::record_workspace(&options, &mut paths, &policy);
        if let Some(problem) = recorded? {
            tracing::warn!("{problem}");
        }
        let took = projects.age();
        Ok(AgentPolicy { policy, bases, projects, took, is_refreshed: AtomicBool::new(false) })
    }
}

impl KeptPolicy {
    fn current(&self) -> Option<Arc<AgentPolicy>> {
        self.last.lock().clone().filter(|kept| kept.is_current())
    }
}

impl AgentPolicy {
    /// How long ago it was compiled.
    fn age(&self) -> Duration {
        self.projects.age().saturating_sub(self.took)
    }

    fn is_current(&self) -> bool {
        // A policy that takes long to compile is used longer, so that it is not too old as soon as it is compiled.
        self.age() < MAX_AGE.max(self.took * 4) && self.projects.are_current()
    }

    fn is_due(&self) -> bool {
        self.age() >= REFRESH_AGE.max(self.took * 2)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::Cli;

    fn loaded(home: &Path) -> Arc<Loaded> {
        let words = ["openclaw-guard", "--home", home.to_str().unwrap()];
        let options = Cli::try_parse_from(words).unwrap().options;
        let paths = Paths::find_at(&options, home).unwrap();
        Arc::new(Loaded::read(&options, &paths).unwrap())
    }

    #[test]
    fn calls_at_once_share_one_policy() {
        let home = tempfile::tempdir().unwrap();
        let loaded = loaded(home.path());
        let policies: Vec<_> = std::thread::scope(|scope| {
            let calls: Vec<_> = (0..8).map(|_| scope.spawn(|| loaded.agent("other").unwrap())).collect();
            calls.into_iter().map(|call| call.join().unwrap()).collect()
        });
        assert!(policies.iter().all(|policy| Arc::ptr_eq(policy, &policies[0])));
    }

    #[test]
    fn what_openclaws_tools_may_write_is_recorded() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path().join(".openclaw");
        std::fs::create_dir(&state).unwrap();
        let policy = r#"{"version": 1, "permissions": {"filesystem": {"rules": {"/opt/tools/**": "rw-"}}}}"#;
        std::fs::write(state.join("guard.json"), policy).unwrap();
        loaded(home.path()).agent("main").unwrap();
        let record = std::fs::read_to_string(state.join("guard/workspaces.jsonl")).unwrap();
        assert!(record.contains(r#""/opt/tools""#), "{record}");
    }

    #[test]
    fn a_policy_is_replaced_beside_the_calls() {
        let home = tempfile::tempdir().unwrap();
        let loaded = loaded(home.path());
        let before = loaded.agent("main").unwrap();
        loaded.refresh("main", loaded.place("main"));
        while Arc::ptr_eq(&before, &loaded.agent("main").unwrap()) {
            std::thread::yield_now();
        }
    }
}
