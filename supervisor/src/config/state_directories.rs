//! OpenClaw's state directories: the one that this run has, and the usual ones.

use std::env;
use std::path::{Path, PathBuf};

use guard_openclaw::gateway::{self, Config};
use guard_openclaw::real_path::real;

/// Returns the directories with records of runs: of this state directory, and of the usual one if it exists.
pub(super) fn records(state: &Path, home: &Path) -> Vec<PathBuf> {
    let usual = Some(usual_state(home)).filter(|usual| usual != state && usual.is_dir());
    [state.to_owned()].into_iter().chain(usual).collect()
}

/// Returns OpenClaw's usual state directory for a home.
pub(super) fn usual_state(home: &Path) -> PathBuf {
    real(&home.join(".openclaw"))
}

/// Returns OpenClaw's usual state directories: of this home, and of `HOME`. They hold tokens of gateways, and the
/// policies of runs for which no variable names another state directory.
pub(super) fn usual_states(home: &Path) -> Vec<PathBuf> {
    let mut homes = vec![home.to_owned()];
    homes.extend(named_by("HOME"));
    homes.iter().map(|home| home.join(".openclaw")).collect()
}

/// A configuration of OpenClaw.
pub(super) struct OpenclawConfig {
    /// The path of openclaw.json.
    pub file: PathBuf,
    /// The state directory.
    pub state: PathBuf,
    /// What it says.
    pub read: Config,
}

/// Reads the configurations of OpenClaw: that of this state directory, and the usual ones.
pub(super) fn configs(state: &Path, home: &Path) -> Vec<OpenclawConfig> {
    let mut files = vec![(gateway::config(state), state.to_owned())];
    files.extend(usual_states(home).into_iter().map(|state| (state.join("openclaw.json"), state)));
    files.sort();
    files.dedup();
    let read = |(file, state): (PathBuf, PathBuf)| OpenclawConfig { read: Config::read(&file), file, state };
    files.into_iter().map(read).collect()
}

/// Returns the path in a variable of the environment, unless that is empty.
pub(super) fn named_by(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}
