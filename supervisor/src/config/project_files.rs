//! Finds the files of projects: `.openclaw/guard.json` in the start directory and in each directory above it.
//!
//! All of these files count. The guard does not look for a `.git`: a guarded run could make one, and so choose which
//! file counts. A file's restrictions always count. What it allows counts if the operator trusted its contents at this
//! path (`trusted_projects`) and nobody else could change it.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use guard_approvals::Digest;
use guard_policy::{Document, Policy, ProjectFile, ProjectGrant, ProjectTrust};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::trusted_projects::TrustedProjects;
use super::{Disk, SetupError};
use crate::config::options::Options;
use crate::config::paths::Paths;

/// The largest file of a project, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// A project's file as it was read.
#[derive(Clone, Debug)]
pub struct ReadProject {
    /// The file.
    pub path: PathBuf,
    /// The SHA-256 of its contents, in hexadecimal digits.
    pub sha256: String,
    /// Why the file cannot be trusted; `None` if it can be.
    pub distrust: Option<String>,
    directory: PathBuf,
    document: Document,
}

impl ReadProject {
    /// Returns the file with the trust that the record of trusted files gives it.
    pub fn judged(&self, trusted: &TrustedProjects) -> ProjectFile {
        let trust = match &self.distrust {
            Some(why) => ProjectTrust::Never(why.clone()),
            None => trusted.trust(&self.path, &self.sha256),
        };
        self.with(trust)
    }

    /// Returns the file with this trust.
    pub fn with(&self, trust: ProjectTrust) -> ProjectFile {
        let directory = self.directory.as_os_str().as_bytes().to_vec();
        ProjectFile { directory, document: self.document.clone(), trust }
    }
}

/// Returns the nearest project file: in `directory`, a real path, or above it.
///
/// # Errors
/// If it cannot be read or is invalid.
pub fn nearest(paths: &Paths, directory: &Path) -> Result<Option<ReadProject>, SetupError> {
    directory.ancestors().find_map(|directory| read(paths, directory).transpose()).transpose()
}

/// Returns what a file would allow beyond the policy in force in its project.
///
/// # Errors
/// If the policy cannot be read or is invalid.
pub fn grants(
    options: &Options,
    paths: &Paths,
    project: &ReadProject,
) -> Result<Vec<ProjectGrant>, SetupError> {
    let mut there = paths.clone();
    there.start.clone_from(&project.directory);
    there.cwd.clone_from(&project.directory);
    (there.projects, there.workspace) = (Some(Vec::new()), None);
    let policy: Policy = super::policy(options, &there, Disk::Used)?;
    Ok(policy.granted_by(&project.with(ProjectTrust::Untrusted)))
}

/// Returns the files that count where the guard is started, the nearest first. If the tree may have made a link on the
/// way there, the restrictions of the files around the link count, too: a run may have moved the start directory out of
/// its project.
///
/// # Errors
/// If one of them cannot be read or is invalid, because its restrictions are then unknown.
pub(super) fn find(options: &Options, paths: &Paths) -> Result<Vec<ProjectFile>, SetupError> {
    let mut found = Vec::new();
    let mut trusted = None;
    let link = paths.persistence_sites.start_link.as_deref().map(|link| Path::new(OsStr::from_bytes(link)));
    let around = link.and_then(Path::parent).into_iter().flat_map(Path::ancestors);
    let around = around.filter(|directory| !paths.start.starts_with(directory));
    for directory in paths.start.ancestors().chain(around) {
        let read = match read(paths, directory) {
            // The file may be the other user's own policy, so the guard starts all the same.
            Err(error) if is_anothers(directory) => {
                tell_left_out(&error);
                continue;
            }
            read => read?,
        };
        let Some(read) = read else { continue };
        let mut project =
            read.judged(trusted.get_or_insert_with(|| TrustedProjects::read(&paths.state_directory)));
        if options.untrusted_environment && project.trust == ProjectTrust::Trusted {
            let why = "with --untrusted-environment the start directory is not the operator's choice";
            project.trust = ProjectTrust::Never(why.to_owned());
        }
        if !paths.start.starts_with(directory) {
            let why = "a symbolic link led from there to the start directory";
            project.trust = ProjectTrust::Never(why.to_owned());
        }
        found.push(project);
    }
    Ok(found)
}

/// Whether a directory belongs to a user who is neither this one nor root. The tree cannot give a directory away.
fn is_anothers(directory: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    directory.symlink_metadata().is_ok_and(|meta| ![user, 0].contains(&meta.uid()))
}

fn tell_left_out(error: &SetupError) {
    match error {
        // This is the private state directory of another user, above the start directory.
        SetupError::Project { error: denied, .. } if denied.kind() == io::ErrorKind::PermissionDenied => {
            tracing::info!("{error}");
        }
        _ => eprintln!("openclaw-guard: left out, because its directory is another user's: {error}"),
    }
}

/// Reads the file of a project's directory, which is a real path. Returns `None` if the file is missing.
///
/// # Errors
/// If it cannot be read or is invalid.
pub fn read(paths: &Paths, directory: &Path) -> Result<Option<ReadProject>, SetupError> {
    let path = directory.join(ProjectFile::PLACE);
    if paths.is_own_policy(&path) {
        return Ok(None);
    }
    let unreadable = |error| SetupError::Project { path: path.clone(), error };
    let Some(file) = open(&path).map_err(unreadable)? else { return Ok(None) };
    let distrust = distrust(&path, &file).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(unreadable(io::Error::other("it is larger than 1 MiB")));
    }
    let sha256 = Digest::of_bytes(&bytes).to_string();
    let text = String::from_utf8(bytes).map_err(|_| unreadable(io::Error::other("it is not UTF-8 text")))?;
    let document = Document::parse_project(&path.to_string_lossy(), &text).map_err(SetupError::Invalid)?;
    Ok(Some(ReadProject { sha256, distrust, directory: directory.to_owned(), document, path }))
}

/// Opens a file without following links. Returns `None` if the file is missing.
fn open(path: &Path) -> io::Result<Option<File>> {
    // Opening a FIFO would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP) => return Err(io::Error::other("it, or its directory, is a symbolic link")),
        Err(error) => return Err(error.into()),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    Ok(Some(file))
}

/// Returns why a file cannot be trusted: who else could change it.
fn distrust(path: &Path, file: &File) -> io::Result<Option<String>> {
    let user = rustix::process::geteuid().as_raw();
    let own = path.parent().map(std::fs::symlink_metadata).transpose()?;
    let file = file.metadata()?;
    let is_anothers = |meta: &std::fs::Metadata| meta.uid() != user;
    let is_open = |meta: &std::fs::Metadata| meta.mode() & 0o022 != 0;
    let both = || own.iter().chain([&file]);
    Ok(match () {
        () if both().any(is_anothers) => Some("it or its directory belongs to another user".to_owned()),
        () if both().any(is_open) => {
            Some("its mode or its directory's lets others write (chmod go-w)".to_owned())
        }
        () if file.nlink() > 1 => {
            Some("it has another name (a hard link), by which it could be written".to_owned())
        }
        () => None,
    })
}
