//! Finds, at the start, where files can make programs run by themselves: homes, the repositories, the guard.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use guard_policy::PersistenceSites;
use nix::unistd::{User, getuid};

use crate::config::agent_settings::{self, UnreadSettings};
use crate::config::git_named_paths::NamedPaths;
use crate::config::git_repositories::Repositories;
use crate::config::git_values;
use crate::config::host_names;
use crate::config::realpath::Links;
use crate::config::state_directories::OpenclawConfig;
use crate::config::workspace_record::RunRecord;

/// Finds all sites. `record` says which `.git` a guarded program may have made. `openclaw` are the configurations of
/// OpenClaw, each with its state directory.
///
/// # Errors
/// The file of an agent names too much.
pub(super) fn find(
    links: &Links,
    record: &RunRecord,
    cwd: &Path,
    home: &Path,
    openclaw: &[OpenclawConfig],
) -> Result<PersistenceSites, UnreadSettings> {
    let variable = |name| env::var_os(name).filter(|value| value.as_bytes().starts_with(b"/"));
    let real = |path: &OsStr| links.real(path.as_bytes()).unwrap_or_else(|| path.as_bytes().to_vec());
    // The path stays as written, so that a link on the way is protected, too.
    let base = |name| variable(name).map(OsString::into_vec);
    // cron, at and login shells take the home from the password entry, whatever HOME says here.
    let login = User::from_uid(getuid()).ok().flatten().map(|user| user.dir.into_os_string());
    let login = login.filter(|home| home.as_bytes().starts_with(b"/") && home != "/");
    let homes = ["HOME", "ZDOTDIR"].into_iter().filter_map(variable).chain(login);
    let mut homes: Vec<Vec<u8>> = homes.flat_map(|path| [real(&path), path.into_vec()]).collect();
    homes.sort();
    homes.dedup();
    homes.retain(|other| other != home.as_os_str().as_bytes());
    let mut found = Repositories::new(links);
    found.around(cwd);
    let mut of_user = NamedPaths::by_user(links, home, home);
    found.named.others.append(&mut of_user.others);
    found.named.hooks.append(&mut of_user.hooks);
    let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(variable);
    // A device (/dev/null) switches the configuration off, and needs no protection.
    found.named.others.extend(named.map(PathBuf::from).filter(|path| !git_values::is_device(path)));
    found.links();
    // Programs in an environment of the workspace are the work itself, so a guarded program must not choose the workspace.
    let mut workspaces = vec![cwd.to_owned()];
    workspaces.extend(found.tops.into_iter().filter(|top| top != cwd && record.vouches_for(top)));
    let mut of_agents = agent_settings::named_files(links, home, &workspaces)?;
    for config in openclaw {
        of_agents.extend(agent_settings::named_by_openclaw(config, home, &workspaces)?);
    }
    for project in &workspaces {
        of_agents.extend(agent_settings::named_scripts(links, home, project));
    }
    Ok(PersistenceSites {
        homes,
        config: base("XDG_CONFIG_HOME"),
        data: base("XDG_DATA_HOME"),
        cache: base("XDG_CACHE_HOME"),
        workspaces: bytes(workspaces),
        git_directories: bytes(found.directories),
        git_others: bytes(found.named.others),
        hook_directories: bytes(found.named.hooks),
        path_as_written: path_as_written(cwd),
        tmux: bytes(tmux_directories()),
        this_host: host_names::this_host(),
        variables: PersistenceSites::names_of_variables()
            .filter_map(|name| Some((name.to_owned(), env::var_os(name)?.into_vec())))
            .collect(),
        agents: bytes(of_agents),
        start_link: None,
        guard: std::fs::read_link("/proc/self/exe").map(|program| bytes(vec![program])).unwrap_or_default(),
    })
}

fn path_as_written(cwd: &Path) -> Vec<Vec<u8>> {
    let path = env::var_os("PATH").unwrap_or_default();
    bytes(env::split_paths(&path).map(|directory| cwd.join(directory)).collect())
}

/// Returns where tmux looks for its servers (tmux(1), FILES).
fn tmux_directories() -> Vec<PathBuf> {
    let name = format!("tmux-{}", rustix::process::getuid().as_raw());
    let named = env::var_os("TMUX_TMPDIR").map(PathBuf::from).filter(|directory| directory.is_absolute());
    ["/tmp".into()].into_iter().chain(named).map(|directory: PathBuf| directory.join(&name)).collect()
}

fn bytes(paths: Vec<PathBuf>) -> Vec<Vec<u8>> {
    paths.into_iter().map(|path| path.into_os_string().into_vec()).collect()
}
