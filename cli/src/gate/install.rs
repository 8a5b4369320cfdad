//! `gate install` and `gate remove`.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use guard_openclaw::approvals_store::Directory;
use guard_policy::text::{quoted, shown};
use guard_supervisor::config::Paths;
use guard_supervisor::exit::Exit;

use super::plugin::{self, FILES, ID};
use super::status::denied_workspace;
use super::{GateError, shown_path};

/// Writes the plugin, and has OpenClaw link it.
///
/// # Errors
/// When it cannot be written, or OpenClaw refuses it.
pub fn install(paths: &Paths) -> Result<Exit, GateError> {
    let directory = plugin::directory(&paths.state_directory);
    let at = |error| GateError::Write { path: shown_path(&directory), error };
    // Makes the guard's directory with the owner and the mode of the guard's own files.
    drop(Directory::make_own(&paths.state_directory).map_err(at)?);
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(at)?;
    for (name, text) in FILES {
        let path = directory.join(name);
        write(&path, text).map_err(|error| GateError::Write { path: shown_path(&path), error })?;
    }
    let mut out = io::stdout().lock();
    writeln!(out, "wrote {}", shown_path(&directory))?;
    for (name, text) in FILES {
        writeln!(out, "  {name:<20} SHA-256 {}", plugin::hash(text.as_bytes()))?;
    }
    let words = ["plugins", "install", "--link", &directory.to_string_lossy()].map(str::to_owned);
    if link(&words)? {
        writeln!(out, "OpenClaw has linked it; next:")?;
    } else {
        writeln!(out, "openclaw is not on PATH; next:")?;
        let line = words.each_ref().map(|word| quoted(word)).join(" ");
        writeln!(out, "  openclaw {line}    (2026.9: with {} besides)", CONSENT.join(" "))?;
    }
    writeln!(out, "  systemctl --user enable --now openclaw-guard-gate    or: openclaw-guard gate serve")?;
    if let Some(workspace) = denied_workspace(paths) {
        let workspace = shown(workspace.as_bytes());
        writeln!(
            out,
            "  openclaw config set agents.defaults.workspace ~/project    (every policy denies {workspace})"
        )?;
    }
    writeln!(out, "  openclaw gateway restart")?;
    writeln!(
        out,
        "from then on every tool call is asked about, and blocked while the service does not answer"
    )?;
    Ok(Exit::Success)
}

/// Has OpenClaw forget the plugin, and removes its files.
///
/// # Errors
/// When OpenClaw refuses, or the files cannot be removed.
pub fn remove(paths: &Paths) -> Result<Exit, GateError> {
    let words = ["plugins", "uninstall", ID, "--force"].map(str::to_owned);
    let is_done = openclaw(&words)?;
    let directory = plugin::directory(&paths.state_directory);
    match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(GateError::Remove { path: shown_path(&directory), error });
        }
        _ => {}
    }
    let mut out = io::stdout().lock();
    writeln!(out, "removed {}", shown_path(&directory))?;
    if !is_done {
        writeln!(out, "openclaw is not on PATH; next:\n  openclaw {}", words.join(" "))?;
    }
    writeln!(out, "next:\n  openclaw gateway restart\n  systemctl --user disable --now openclaw-guard-gate")?;
    Ok(Exit::Success)
}

/// Has OpenClaw link the plugin; returns false if there is no openclaw.
///
/// Releases since 2026.9 link a local plugin only with the words [`CONSENT`], which older releases refuse.
/// Whoever runs `gate install` consents.
fn link(words: &[String]) -> Result<bool, GateError> {
    match openclaw(words) {
        Err(GateError::Openclaw { output, .. }) if CONSENT.iter().any(|word| output.contains(word)) => {
            let consented: Vec<_> = words.iter().cloned().chain(CONSENT.map(str::to_owned)).collect();
            openclaw(&consented)
        }
        done => done,
    }
}

/// The operator's consent to a plugin from this disk.
const CONSENT: [&str; 2] = ["--force", "--accept-capabilities"];

/// Replaces a file in one step, because the gateway may be reading it.
fn write(path: &Path, text: &str) -> io::Result<()> {
    let new = path.with_extension("new");
    let _ = fs::remove_file(&new);
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&new, path)
}

/// Runs openclaw with these words; returns false if there is no openclaw.
fn openclaw(words: &[String]) -> Result<bool, GateError> {
    let mut command = Command::new("openclaw");
    command.args(words).env("NO_COLOR", "1").stdin(Stdio::null());
    let output = match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        output => output?,
    };
    if output.status.success() {
        return Ok(true);
    }
    let text = [output.stdout, output.stderr].concat();
    let lines: Vec<_> = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
    let last = lines.iter().rev().take(3).rev().map(|line| shown(line)).collect::<Vec<_>>().join("; ");
    let status = output.status.code().map_or_else(|| "a signal".to_owned(), |status| status.to_string());
    Err(GateError::Openclaw { status, output: last })
}
