//! The questions for the engine: the same ones that a guarded call raises.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_openclaw::real_path::real;
use guard_policy::{
    Access, Connection, Exec, Outcome, Page, Policy, Reason, Request, Role, Source, Transport, Verdict,
    decide,
};
use guard_supervisor::exec::image::{self, Image};
use guard_supervisor::judge::local_address::interface_of;

use crate::check::{file, start_verdict};

/// How many scripts may interpret each other in a row (fs/exec.c, exec_binprm).
const MAX_SCRIPTS: usize = 5;

/// One question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathQuery {
    /// May this file be used with this access?
    File { path: Vec<u8>, access: Access },
    /// May the tree connect to this socket, which it did not create?
    Socket { path: Vec<u8> },
    /// May this file run?
    Start { path: Vec<u8>, argv: Vec<Vec<u8>>, cwd: Vec<u8>, role: Role },
    /// May a TCP socket connect to this address?
    Connect { address: std::net::SocketAddr, page: Page },
    /// May a TCP socket listen at this address?
    Bind { address: std::net::SocketAddr, page: Page },
}

impl PathQuery {
    /// The engine's verdict; a program that is not below exec.roots is denied.
    pub fn decide<'p>(&self, policy: &'p Arc<Policy>) -> Verdict<'p> {
        match self {
            PathQuery::File { path, access } => file::verdict(policy, path, *access),
            PathQuery::Socket { path } => {
                let verdict = decide(policy, &Request::File { path, access: Access::WRITE });
                if verdict.outcome == Outcome::Deny || policy.names(path) {
                    return verdict;
                }
                let text = "a socket that the tree did not create; a rule must name the socket itself";
                Verdict { outcome: Outcome::Deny, reason: Reason::new(Source::Builtin, "", text, text) }
            }
            PathQuery::Start { path, argv, cwd, role } => {
                start_verdict(policy, Exec { path, argv, cwd, role: *role })
            }
            PathQuery::Connect { address, page } => {
                let interface = interface_of(policy, *address, *page);
                let connection = Connection { interface, page: *page, ..Connection::to(*address) };
                decide(policy, &Request::Connect(connection))
            }
            PathQuery::Bind { address, page } => {
                let (address, transport, page) = (*address, Transport::Tcp, *page);
                decide(policy, &Request::Bind { address, transport, page, is_beside: false })
            }
        }
    }

    /// The rule that comes nearest to allowing what this asks about.
    pub fn nearest<'p>(&self, policy: &'p Policy) -> Option<guard_policy::remedy::Nearest<'p>> {
        match self {
            PathQuery::File { path, access } => policy.nearest(&Request::File { path, access: *access }),
            PathQuery::Socket { path } => policy.nearest(&Request::File { path, access: Access::WRITE }),
            PathQuery::Start { path, argv, cwd, role } => {
                policy.nearest(&Request::Exec(Exec { path, argv, cwd, role: *role }))
            }
            PathQuery::Connect { .. } | PathQuery::Bind { .. } => None,
        }
    }

    /// The path in question.
    pub fn path(&self) -> Option<&[u8]> {
        match self {
            PathQuery::File { path, .. } | PathQuery::Socket { path } | PathQuery::Start { path, .. } => {
                Some(path)
            }
            PathQuery::Connect { .. } | PathQuery::Bind { .. } => None,
        }
    }

    /// Whether this is the query for the started program itself.
    pub fn is_program(&self) -> bool {
        matches!(self, PathQuery::Start { role: Role::Program, .. })
    }

    /// Whether it is about a start that needs an allowlist entry.
    pub fn needs_entry(&self) -> bool {
        matches!(self, PathQuery::Start { role: Role::Program | Role::Interpreter, .. })
    }
}

/// The files that run when the program at this real path starts: the program, its interpreters if it is a script, and
/// the loader. A file that cannot be read is judged by its path alone.
pub fn starts(path: &Path, argv: Vec<Vec<u8>>, cwd: &Path) -> Vec<PathQuery> {
    let (mut path, mut argv, mut role) = (path.to_owned(), argv, Role::Program);
    let cwd = cwd.as_os_str().as_bytes().to_vec();
    let mut parts = Vec::new();
    for _ in 0..=MAX_SCRIPTS {
        let bytes = path.as_os_str().as_bytes().to_vec();
        let image = File::open(&path).ok().and_then(|file| image::read(&file).ok());
        parts.push(PathQuery::Start { path: bytes, argv: argv.clone(), cwd: cwd.clone(), role });
        match image {
            Some(Image::Script { interpreter, argument }) => {
                // Like `exec::judge`, replaces argv[0] by the interpreter, its argument and the script's
                // name.
                let name = argv.first().filter(|name| name.contains(&b'/')).cloned();
                let name = name.unwrap_or_else(|| path.as_os_str().as_bytes().to_vec());
                argv.splice(
                    ..1.min(argv.len()),
                    [Some(interpreter.clone()), argument, Some(name)].into_iter().flatten(),
                );
                path = real_of(&interpreter, &cwd);
                role = Role::Interpreter;
            }
            Some(Image::Elf { interpreter: Some(loader) }) => {
                let path = real_of(&loader, &cwd).into_os_string().as_bytes().to_vec();
                parts.push(PathQuery::Start { path, argv, cwd, role: Role::Loader });
                break;
            }
            _ => break,
        }
    }
    parts
}

fn real_of(written: &[u8], cwd: &[u8]) -> PathBuf {
    real(&Path::new(OsStr::from_bytes(cwd)).join(OsStr::from_bytes(written)))
}
