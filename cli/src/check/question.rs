//! One question from the command line, about files and programs on the disk.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use guard_approvals::served;
use guard_policy::text::shown;
use guard_policy::{
    Access, Connection, Exec, Page, Policy, Request, Role, Transport, Verdict, WebRequest, WebTarget, decide,
};
use guard_supervisor::config::{Paths, environment};
use guard_supervisor::exec::ContentMatcher;
use guard_supervisor::exit::Exit;
use guard_supervisor::judge::guard::decide_start;
use guard_supervisor::judge::local_address::interface_of;
use rustix::fs::{Mode, OFlags};

use super::arguments::CheckArgs;
use super::output::json;
use super::{CheckError, command, lookup};

/// Answers on stdout and by the exit status.
///
/// # Errors
/// When there is no question, or the command is not found.
pub fn answer(question: &CheckArgs, policy: &Arc<Policy>, paths: &Paths) -> Result<Exit, CheckError> {
    if let Some(path) = &question.read {
        return print(question, policy, "read", &file(path), &[], &paths.cwd);
    }
    if let Some(path) = &question.write {
        return print(question, policy, "write", &file(path), &[], &paths.cwd);
    }
    if let Some(path) = &question.exec {
        let argv = [path.as_os_str().as_bytes().to_vec()];
        return print(question, policy, "exec", &file(path), &argv, &paths.cwd);
    }
    if let Some(address) = question.connect {
        let page = served(&paths.state_directory);
        let interface = interface_of(policy, address, page);
        let request = Request::Connect(Connection { interface, page, ..Connection::to(address) });
        return render(question, "connect", address.to_string().as_bytes(), &decide(policy, &request));
    }
    if let Some(url) = &question.url {
        let page = served(&paths.state_directory);
        return render(question, "url", url.as_bytes(), &web(policy, url, &question.resolves_to, page));
    }
    if let Some(address) = question.bind {
        let page = served(&paths.state_directory);
        let request = Request::Bind { address, transport: Transport::Tcp, page, is_beside: false };
        return render(question, "bind", address.to_string().as_bytes(), &decide(policy, &request));
    }
    let name = question.command.first().ok_or(CheckError::NoQuestion)?;
    let env = environment::of_command(policy, &paths.state_directory).env;
    let Some(program) = lookup::program(name, &env, &paths.cwd) else {
        // A single argument that names no program is taken for a shell's command line.
        return match &question.command[..] {
            [text] if command::is_text(text) => command::answer(text, question.json, policy, paths),
            _ => Err(CheckError::NotFound(shown(name.as_bytes()))),
        };
    };
    let argv: Vec<_> = question.command.iter().map(|argument| argument.as_bytes().to_vec()).collect();
    print(question, policy, "exec", &file(&program), &argv, &paths.cwd)
}

/// The verdict on a URL whose name has these addresses.
fn web<'p>(policy: &'p Policy, url: &str, addresses: &[IpAddr], page: Page) -> Verdict<'p> {
    let target = WebTarget::Url(url);
    let port = target.endpoint().map_or(0, |endpoint| endpoint.port());
    let connection = |ip: &IpAddr| {
        let address = SocketAddr::new(*ip, port);
        let interface = interface_of(policy, address, page);
        Connection { interface, page, ..Connection::to(address) }
    };
    let addresses: Vec<_> = addresses.iter().map(connection).collect();
    decide(policy, &Request::Web(WebRequest { target, addresses: &addresses, is_name_approved: false }))
}

fn file(path: &Path) -> PathBuf {
    guard_openclaw::real_path::real(&std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
}

/// The verdict on the start of the program at this real path. As under the floor, a program that is not below
/// exec.roots is denied.
pub fn start_verdict<'p>(policy: &'p Arc<Policy>, exec: Exec<'_>) -> Verdict<'p> {
    let originals = originals(policy, exec.path);
    decide_start(policy, exec, &originals)
}

/// Returns the withheld programs that the file is a copy of. A file that cannot be opened has none, because it cannot
/// start.
fn originals(policy: &Arc<Policy>, path: &[u8]) -> Vec<Vec<u8>> {
    let file = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let copies = ContentMatcher::new(Arc::clone(policy));
    file.and_then(|file| copies.originals(path, file.as_fd(), &|| Ok(()))).unwrap_or_default()
}

fn print(
    question: &CheckArgs,
    policy: &Arc<Policy>,
    operation: &str,
    path: &Path,
    argv: &[Vec<u8>],
    cwd: &Path,
) -> Result<Exit, CheckError> {
    let bytes = path.as_os_str().as_bytes();
    let verdict = match operation {
        "read" => super::file::verdict(policy, bytes, Access::READ),
        "write" => super::file::verdict(policy, bytes, Access::WRITE),
        _ => {
            let cwd = cwd.as_os_str().as_bytes();
            start_verdict(policy, Exec { path: bytes, argv, cwd, role: Role::Program })
        }
    };
    render(question, operation, bytes, &verdict)
}

/// Writes the answer.
fn render(
    question: &CheckArgs,
    operation: &str,
    subject: &[u8],
    verdict: &Verdict<'_>,
) -> Result<Exit, CheckError> {
    let mut out = std::io::stdout().lock();
    let written = if question.json {
        writeln!(out, "{}", json(verdict))
    } else {
        let word = verdict.outcome.as_str();
        let reason = &verdict.reason;
        let [rule, text] = [reason.rule(), &*reason.text].map(|text| shown(text.as_bytes()));
        writeln!(out, "{word} {operation} {}\n  {rule}\n  {text}", shown(subject))
    };
    super::output::written(written)?;
    Ok(super::output::status(verdict.outcome))
}
