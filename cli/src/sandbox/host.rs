//! The directories of this machine that OpenClaw's sandboxes depend on.

use std::env;
use std::path::{Path, PathBuf};

use guard_openclaw::sandbox::{BlockedPaths, HostDisk, OpenclawDirectories};
use guard_supervisor::config::Paths;

/// The variables that name a home directory, in OpenClaw's order.
const HOMES: [&str; 3] = ["OPENCLAW_HOME", "HOME", "USERPROFILE"];
/// The variable that names OpenClaw's state directory.
const STATE: &str = "OPENCLAW_STATE_DIR";

/// Collects the paths that no container may see: below every home that a variable names, and below `home`.
pub fn blocked_paths(home: &Path) -> BlockedPaths {
    let home = home.to_string_lossy();
    let named = |name: &str| variable(name).map(|path| below_home(&home, path));
    let is_path = |path: &String| path.starts_with('/');
    let mut homes: Vec<_> = HOMES.into_iter().filter_map(named).filter(is_path).collect();
    homes.push(home.to_string());
    let state = named(STATE).filter(is_path);
    BlockedPaths::new(homes.iter().map(String::as_str), state.as_deref(), &HostDisk)
}

/// The directories that OpenClaw's defaults start from.
pub fn directories(paths: &Paths) -> OpenclawDirectories {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let home = variable("OPENCLAW_HOME").or_else(|| variable("HOME"));
    let home = home.filter(|home| home.starts_with('/')).unwrap_or_else(|| text(&paths.home));
    let state = match variable(STATE) {
        Some(state) => below_home(&home, state),
        None => format!("{home}/.openclaw"),
    };
    let workspace = variable("OPENCLAW_WORKSPACE_DIR").unwrap_or_else(|| format!("{state}/workspace"));
    let cwd = env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    OpenclawDirectories { cwd: text(&cwd), home, state, workspace }
}

/// A variable's trimmed value, if there is one.
fn variable(name: &str) -> Option<String> {
    let value = env::var_os(name)?.to_string_lossy().trim().to_owned();
    (!value.is_empty()).then_some(value)
}

fn below_home(home: &str, path: String) -> String {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => format!("{home}{rest}"),
        _ => path,
    }
}
