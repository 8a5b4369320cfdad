//! What an argument of a program names, if the program may run that.

use guard_approvals::{CodeInput, InputSource};
use guard_policy::analysis::InputKind;
use rustix::fs::FileType;
use rustix::io::Errno;

use super::approval_subject::input;
use super::find;
use super::script_paths::spelled;
use super::scripts::Named;
use crate::resolve::Target;
use crate::syscall::Request;

/// The major number of devices without content of their own: null, zero, random (Documentation/admin-guide/devices.txt).
const MEMORY: u32 = 1;

/// The file that an argument names, which the program may run.
pub(super) enum RunnableArgument {
    File(Named),
    Input(CodeInput),
    /// A directory, by its real path.
    Directory(Vec<u8>),
    /// A device without content of its own.
    Nothing,
}

/// What an argument names: a regular file is opened to read.
pub(super) fn operand(
    request: &Request<'_, '_>,
    written: &[u8],
    cwd: &[u8],
) -> Result<RunnableArgument, Errno> {
    let (object, path) = find(request, libc::AT_FDCWD, written, 0).and_then(Target::into_object)?;
    let name = spelled(cwd, written);
    Ok(match object.kind() {
        FileType::RegularFile => RunnableArgument::File(Named {
            path,
            name,
            file: object.open_to_read()?,
            is_until_changed: false,
        }),
        FileType::Fifo | FileType::Socket => RunnableArgument::Input(CodeInput {
            source: InputSource::Argument(name),
            ..input(request, &object, path)?
        }),
        FileType::Directory => RunnableArgument::Directory(path),
        FileType::CharacterDevice if rustix::fs::major(object.stat.st_rdev) == MEMORY => {
            RunnableArgument::Nothing
        }
        _ => {
            let found = input(request, &object, path)?;
            let is_terminal = found.kind == InputKind::Terminal;
            let kind = if is_terminal { InputKind::NamedTerminal } else { found.kind };
            RunnableArgument::Input(CodeInput { source: InputSource::Argument(name), kind, ..found })
        }
    })
}
