//! Determines where OpenClaw's gateway listens, from the operator's environment and `openclaw.json`.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_policy::approval::GatewayUrl;
use guard_policy::{Gateway, GatewayConfig};

use crate::config::{Config, REMOTE_URL};

/// The variable with the URL that clients use.
pub(super) const URL: &str = "OPENCLAW_GATEWAY_URL";

/// Returns the path of OpenClaw's configuration: `OPENCLAW_CONFIG_PATH`, else `openclaw.json` in `state`.
pub fn config(state: &Path) -> PathBuf {
    config_in(state, &|name| env::var_os(name))
}

/// Does as [`config`], with a given environment. Like OpenClaw (2026.9.6, `resolveUserPath`), it leaves out blanks
/// around the name, and takes `~` for the home.
pub(super) fn config_in(state: &Path, variable: &dyn Fn(&str) -> Option<OsString>) -> PathBuf {
    let named = variable("OPENCLAW_CONFIG_PATH").unwrap_or_default();
    let name = named.as_bytes().trim_ascii();
    let home = || ["OPENCLAW_HOME", "HOME"].into_iter().filter_map(variable).find(|home| !home.is_empty());
    let path = |bytes| Path::new(OsStr::from_bytes(bytes));
    if name.is_empty() {
        return state.join("openclaw.json");
    }
    match (name.strip_prefix(b"~/"), home()) {
        (Some(rest), Some(home)) => Path::new(&home).join(path(rest)),
        _ => path(name).to_owned(),
    }
}

/// Returns the copies that OpenClaw leaves beside its configuration when it changes (OpenClaw 2026.7.35,
/// 2026.9.6), each with the secrets of its time. Lists the copies that exist, and those with known names even
/// if they do not.
pub fn copies(config: &Path) -> Vec<PathBuf> {
    const ENDS: [&str; 7] = ["bak", "bak.1", "bak.2", "bak.3", "bak.4", "last-good", "pre-update"];
    let (Some(directory), Some(name)) = (config.parent(), config.file_name()) else { return Vec::new() };
    let begin = [name.as_bytes(), b"."].concat();
    let mut copies: Vec<_> = ENDS
        .iter()
        .map(|end| directory.join(OsStr::from_bytes(&[begin.as_slice(), end.as_bytes()].concat())))
        .collect();
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let others = entries.map(|entry| entry.file_name()).filter(|name| name.as_bytes().starts_with(&begin));
    copies.extend(others.map(|name| directory.join(name)));
    copies.sort();
    copies.dedup();
    copies
}

/// Returns the ports that the gateway may have. Without a readable source, the default port counts, and the
/// result has a warning.
pub fn find(config: &Config) -> Gateway {
    every(config, &|name| env::var_os(name))
}

/// Does as [`find`], with a given environment.
pub(super) fn every(config: &Config, variable: &dyn Fn(&str) -> Option<OsString>) -> Gateway {
    let gateway = find_in(config, variable("OPENCLAW_GATEWAY_PORT"));
    let named = variable(URL).and_then(|url| url.into_string().ok());
    let urls = named.as_deref().into_iter().chain(config.text(REMOTE_URL));
    urls.filter_map(|url| GatewayUrl::parse(url.trim()).ok()).fold(gateway, |gateway, url| gateway.and(&url))
}

/// Returns where OpenClaw's own gateway listens; `variable` is the value of `OPENCLAW_GATEWAY_PORT`.
pub(super) fn find_in(config: &Config, variable: Option<OsString>) -> Gateway {
    let variable = variable.map(|value| value.to_string_lossy().into_owned());
    let problem = config.problem().map(|problem| problem.error.to_string());
    // The source has each value of a duplicated key.
    let source = config.source().map(GatewayConfig::Text);
    let find = |found| Gateway::find(variable.as_deref(), found, &config.file);
    match (&problem, source) {
        // What can be read may name the port, or a file that is included and cannot be read.
        (Some(why), Some(source)) => find(GatewayConfig::Unreadable(why)).with_ports_of(&find(source)),
        (Some(why), None) => find(GatewayConfig::Unreadable(why)),
        (None, source) => find(source.unwrap_or(GatewayConfig::Absent)),
    }
}
