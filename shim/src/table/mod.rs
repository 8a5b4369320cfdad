//! The table of system calls: what happens to each one before it reaches the supervisor.
//!
//! The table has one row per system call of an architecture. A row's [`RowAction`] is plain data, so the compiler of the
//! filter and the tests read the same table.

mod architecture;
mod calls;
mod options;
mod requests;
mod rules;

pub use architecture::Architecture;
pub use options::FilterOptions;

/// The highest system call number in the table. Higher numbers fail with ENOSYS.
pub const HIGHEST: u32 = 469;

/// What happens to a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The kernel performs the call. The supervisor does not see it.
    Allow,
    /// The call waits for the supervisor's reply.
    Notify,
    /// The call fails with this errno.
    Errno(i32),
    /// The call is not performed, but returns 0.
    Answer0,
}

/// The content of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowAction {
    /// The same action for all arguments.
    Always(Action),
    /// The action of the first matching rule, or else this action.
    First(&'static [Rule], Action),
    /// The first if the option is set, else the second.
    Option(Switch, &'static RowAction, &'static RowAction),
}

/// Tests that must all hold, and the resulting action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// The tests.
    pub when: &'static [Test],
    /// The action.
    pub then: Action,
}

/// A test of the lower half of one argument.
///
/// Only the lower 32 bits are compared. The kernel truncates every argument in the table to 32 bits, or defines no
/// flags above them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Test {
    /// The index of the argument, from 0.
    pub argument: u8,
    /// The condition on it.
    pub is: Is,
}

/// A condition on the lower half of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Is {
    /// One of these values.
    OneOf(&'static [u32]),
    /// This value, after masking.
    Masked {
        /// The bits that count.
        mask: u32,
        /// Their value.
        value: u32,
    },
    /// Any of these bits is set.
    AnyOf(u32),
    /// None of these bits is set.
    NoneOf(u32),
}

/// The options that a row may depend on: the fields of [`FilterOptions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Switch {
    /// [`FilterOptions::unix_datagram`]
    UnixDatagram,
    /// [`FilterOptions::allow_ptrace`]
    AllowPtrace,
    /// [`FilterOptions::scoped_signals`]
    ScopedSignals,
    /// [`FilterOptions::kernel_reads`]
    KernelReads,
    /// [`FilterOptions::kernel_writes`]
    KernelWrites,
    /// [`FilterOptions::no_network`]
    NoNetwork,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The number of the call.
    pub number: u32,
    /// The kernel's name for it.
    pub name: &'static str,
    /// What happens to the call.
    pub decision: RowAction,
}

impl RowAction {
    /// Resolves the options: the result is `Always` or `First`.
    #[must_use]
    pub fn under(self, options: &FilterOptions) -> RowAction {
        match self {
            RowAction::Option(switch, set, unset) => {
                let chosen = if options.is_set(switch) { set } else { unset };
                chosen.under(options)
            }
            decided => decided,
        }
    }
}

/// The rows of an architecture, ordered by number.
#[must_use]
pub fn rows(architecture: Architecture) -> &'static [Row] {
    match architecture {
        Architecture::X86_64 => &calls::X86_64,
        Architecture::Aarch64 => &calls::AARCH64,
    }
}

/// The rows of the architecture that the guard runs on, ordered by number.
#[must_use]
pub fn entries() -> &'static [Row] {
    rows(Architecture::THIS)
}

/// The row with this number.
#[must_use]
pub fn entry(number: u32) -> Option<&'static Row> {
    let rows = entries();
    rows.binary_search_by_key(&number, |row| row.number).ok().map(|at| &rows[at])
}

/// The row of the call with this name, if the architecture has it.
#[must_use]
pub fn named(architecture: Architecture, name: &str) -> Option<&'static Row> {
    rows(architecture).iter().find(|row| row.name == name)
}

/// The kernel's name of a system call, if the table has it.
#[must_use]
pub fn name(number: u32) -> Option<&'static str> {
    entry(number).map(|row| row.name)
}

#[cfg(test)]
mod tests;
