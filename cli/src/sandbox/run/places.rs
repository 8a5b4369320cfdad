//! The files and directories of the host that a sandbox without a container has, besides its own directory.

use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use guard_openclaw::sandbox::{MountOrigin, WorkspaceAccess};
use guard_policy::EnclosedPlace;
use guard_policy::text::shown;
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;

use crate::sandbox::SandboxError;
use crate::sandbox::question::{SandboxConfig, SessionSandbox};

/// A place of the host, held open.
pub struct HeldPlace {
    /// What the place is.
    pub place: EnclosedPlace,
    /// Where the place is: a path without links.
    pub path: PathBuf,
    /// The descriptor that holds it open.
    pub descriptor: OwnedFd,
}

/// What a sandbox has of the host.
pub struct HeldPlaces {
    /// The agent's workspace, if the sandbox has it.
    pub workspace: Option<HeldPlace>,
    /// What `docker.binds` names. Without a container, each source is at its own path.
    pub binds: Vec<HeldPlace>,
}

impl HeldPlaces {
    /// Opens what the settings name. No link is followed: it may have been made since the settings were checked.
    pub fn open(config: &SandboxConfig, sandbox: &SessionSandbox) -> Result<HeldPlaces, SandboxError> {
        let SessionSandbox { settings, layout, .. } = sandbox;
        let workspace = match settings.workspace_access {
            WorkspaceAccess::None => None,
            access => {
                Some(held(config, "the workspace", &layout.agent_workspace, access == WorkspaceAccess::Rw)?)
            }
        };
        let mounts = layout.mounts(settings);
        let binds = mounts.iter().filter(|mount| mount.origin == MountOrigin::Bind);
        let binds = binds.map(|bind| held(config, "the source of a bind", &bind.source, !bind.read_only));
        let binds = binds.collect::<Result<_, _>>()?;
        if let Some(workspace) = &workspace
            && !workspace.place.is_directory
        {
            let path = shown(workspace.path.as_os_str().as_bytes());
            return Err(SandboxError::Place(format!("the workspace {path} is no directory: make it one")));
        }
        Ok(HeldPlaces { workspace, binds })
    }

    /// All of them, as the policy takes them.
    pub fn enclosed(&self) -> Vec<EnclosedPlace> {
        self.workspace.iter().chain(&self.binds).map(|held| held.place.clone()).collect()
    }
}

fn held(
    config: &SandboxConfig,
    what: &str,
    named: &str,
    is_writable: bool,
) -> Result<HeldPlace, SandboxError> {
    let path = config.real_place(named);
    let wrong = |problem: &str, todo: &str| {
        let path = shown(path.as_os_str().as_bytes());
        SandboxError::Place(format!("{what}, {path}, {problem}: {todo}"))
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let descriptor = openat2(CWD, &path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let descriptor = descriptor.map_err(|error| match error {
        Errno::LOOP => wrong(
            "is or lies behind a symbolic link, which a command may have made",
            &format!("name the real path in openclaw.json{}", real(&path)),
        ),
        Errno::NOENT | Errno::NOTDIR => wrong("does not exist", "make it, or take it out of openclaw.json"),
        error => {
            wrong(&format!("cannot be opened ({error})"), "change its mode, or take it out of openclaw.json")
        }
    })?;
    let stat = fstat(&descriptor).map_err(|error| wrong(&error.to_string(), "look at it"))?;
    let kind = FileType::from_raw_mode(stat.st_mode);
    if !matches!(kind, FileType::Directory | FileType::RegularFile) {
        return Err(wrong("is neither a directory nor a regular file", "take it out of openclaw.json"));
    }
    let place = EnclosedPlace {
        path: path.as_os_str().as_bytes().to_vec(),
        is_directory: kind == FileType::Directory,
        is_writable,
    };
    Ok(HeldPlace { place, path, descriptor })
}

fn real(path: &Path) -> String {
    let real = path.canonicalize().ok();
    real.map(|real| format!(" (it is {})", shown(real.as_os_str().as_bytes()))).unwrap_or_default()
}
