//! What a run records before it starts, for the runs after it: where it may write, and its files.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use guard_openclaw::gateway;
use guard_openclaw::real_path::real;
use guard_policy::{Policy, WritablePlace};

use super::SetupError;
use super::files_of_runs::{self, FileOfRun, RecordError};
use super::options::Options;
use super::path_forms::both_forms;
use super::paths::Paths;
use super::workspace_record;

/// Records where a run under this policy may write. Later, a `.git` there does not make a directory the top of a
/// workspace, and a link there does not count as the operator's. Returns why nothing is recorded, if the run may go on
/// without a record.
///
/// # Errors
/// If this cannot be recorded and the policy names the workspace.
pub fn record_workspace(
    options: &Options,
    paths: &mut Paths,
    policy: &Policy,
) -> Result<Option<SetupError>, SetupError> {
    let places = places_of_run(options, paths, policy);
    match workspace_record::write(&paths.records(), &places) {
        Err((path, error)) if policy.workspace().is_some() => Err(SetupError::Unrecorded { path, error }),
        // Without a home there is no state directory, and no answer is saved that could count later.
        Err((_, error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err((path, error)) => Ok(Some(SetupError::Unrecorded { path, error })),
        Ok(()) => {
            // Places that other runs record at the same moment stay unknown here. They count as news later, and the
            // policy is then compiled again.
            paths.earlier_runs.extend(places);
            Ok(None)
        }
    }
}

/// Returns where a run under this policy may write.
pub(super) fn places_of_run(options: &Options, paths: &Paths, policy: &Policy) -> Vec<WritablePlace> {
    // Only runs of the sandbox's scope start in the sandbox's own directory, and there may be many.
    let own = paths.enclosure().map(|enclosure| Path::new(OsStr::from_bytes(&enclosure.own)).to_owned());
    let is_in_own = |place: &Path| own.as_ref().is_some_and(|own| place.starts_with(own));
    let is_own_start = is_in_own(&paths.cwd);
    let writable =
        |path: &[u8]| policy.writable_unasked(path) && !options.untrusted_environment && !is_own_start;
    // A directory that contains the home is open as a whole only if the home is open, too. A home in /tmp, for
    // instance, is closed by rules of its own.
    let home = paths.home.as_os_str().as_bytes();
    let is_home_open = policy.writable_unasked(paths.home.join(".x").as_os_str().as_bytes());
    let may_hold = |top: &[u8]| is_home_open || !paths.home.starts_with(OsStr::from_bytes(top));
    let mut places = Vec::new();
    for place in policy.writable_places() {
        let top = place.top();
        let at = Path::new(OsStr::from_bytes(&top));
        let is_special = ["/dev", "/proc", "/sys"].iter().any(|special| at.starts_with(special));
        if is_special || is_in_own(at) {
            continue;
        }
        // A pattern may name files that do not exist yet, so the directory around them counts, if all of it can be
        // open.
        if may_hold(&top) {
            places.push(top.into());
        } else if !place.covers(home) {
            places.push(place);
        }
    }
    workspace_record::of_run(&paths.cwd, &paths.home, writable, &places)
}

/// Records the policy, the audit log, the state directory and the files with tokens of a run that is about to start, so that
/// runs with other policies leave them alone. What is in the state directory is out of reach in any case.
///
/// # Errors
/// If the files cannot be recorded, or an older file is no longer protected.
pub fn record_files(paths: &mut Paths, policy: &Policy) -> Result<(), RecordError> {
    let (state, usual) = (paths.state_directory.clone(), paths.usual_state());
    let is_plain = |file: &Path| !file.starts_with(&state) && file.is_file();
    let mut files = Vec::new();
    if is_plain(&paths.policy_file) {
        files.extend(lines(paths.policy_forms(), FileOfRun::Policy));
    }
    let log = paths.audit(None);
    if is_plain(&real(&log)) {
        files.extend(lines(paths.forms_of_log(&log), FileOfRun::Audit));
    }
    // OpenClaw may make its configuration later.
    let config = gateway::config(&paths.state);
    if !real(&config).starts_with(&state) {
        files.extend(lines(both_forms(&[&config]), FileOfRun::Config));
    }
    if let Some(Ok(token)) = policy.gateway_token() {
        let token = Path::new(OsStr::from_bytes(token)).to_owned();
        files.extend(lines(both_forms(&[&token]), FileOfRun::Token).filter(|_| !token.starts_with(&state)));
    }
    record(paths, &state, &files)?;
    // A run without the variable that names the state directory looks at the usual place.
    if usual == state {
        return Ok(());
    }
    files.extend(lines(paths.state_forms(), FileOfRun::State));
    record(paths, &usual, &files)
}

/// Writes files to the record of a state directory. Only these files become known here: files that other runs record
/// count as news later, and the policy is then compiled again.
fn record(paths: &mut Paths, state: &Path, files: &[FileOfRun]) -> Result<(), RecordError> {
    files_of_runs::write(state, files)?;
    files.iter().for_each(|file| paths.files_of_runs.add(file.clone()));
    Ok(())
}

/// Checks what is at the path of the audit log.
///
/// # Errors
/// If it is a FIFO that an earlier run could have made: a program of that run would get every line.
pub fn may_be_log(paths: &Paths, log: &Path) -> io::Result<()> {
    let is_fifo = log.symlink_metadata().is_ok_and(|found| found.file_type().is_fifo());
    if is_fifo && paths.runs().may_be_written(&real(log)) {
        return Err(io::Error::other("it is a FIFO, which an earlier run could have made"));
    }
    Ok(())
}

/// The lines for paths in UTF-8. JSON cannot express other paths, and nobody gives a file such a name by accident.
fn lines(paths: Vec<Vec<u8>>, line: fn(String) -> FileOfRun) -> impl Iterator<Item = FileOfRun> {
    paths.into_iter().filter_map(|path| String::from_utf8(path).ok()).map(line)
}
