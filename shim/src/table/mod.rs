//! The table of system calls: what each one may do, decided before it reaches the supervisor.
//!
//! There is one table per architecture, and one row per system call that the kernel knows.
//! [`RowAction`] is what a row says. It is data, so that the compiler of the filter and the tests read the same thing.

mod options;
mod requests;
mod rules;
mod x86_64;

pub use options::FilterOptions;

/// The highest system call number that the table knows. What is above is answered with ENOSYS.
pub const HIGHEST: u32 = 469;

/// What the kernel does with a system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The kernel does the call. The supervisor does not hear of it.
    Allow,
    /// The call stops until the supervisor has answered.
    Notify,
    /// The call fails with this errno.
    Errno(i32),
    /// The call is not done, and its caller is told that it succeeded.
    Answer0,
}

/// What a row of the table says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowAction {
    /// The same for all arguments.
    Always(Action),
    /// The first rule that matches decides, or else the action that follows the rules.
    First(&'static [Rule], Action),
    /// The first decision where the option is set, the second where it is not.
    Option(Switch, &'static RowAction, &'static RowAction),
}

/// Tests that must all hold, and the action that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rule {
    /// The tests.
    pub when: &'static [Test],
    /// The action.
    pub then: Action,
}

/// A test of the lower half of one argument.
///
/// Only the lower 32 bits are compared: every argument that the table names is either cut to 32 bits by the kernel,
/// or holds flags of which the kernel knows none above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Test {
    /// Which argument, from 0.
    pub argument: u8,
    /// What it must be.
    pub is: Is,
}

/// What the lower half of an argument must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Is {
    /// One of these values.
    OneOf(&'static [u32]),
    /// This value, once masked.
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

/// The options that a decision may depend on: the fields of [`FilterOptions`].
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
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The number of the call.
    pub number: u32,
    /// The kernel's name for it.
    pub name: &'static str,
    /// What is done with it.
    pub decision: RowAction,
}

impl RowAction {
    /// This decision without its options: what is left is `Always` or `First`.
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

/// The rows of the table, in the order of the numbers.
#[must_use]
pub fn entries() -> &'static [Row] {
    x86_64::CALLS
}

/// The row of a number.
#[must_use]
pub fn entry(number: u32) -> Option<&'static Row> {
    let rows = entries();
    rows.binary_search_by_key(&number, |row| row.number).ok().map(|at| &rows[at])
}

/// The kernel's name for a system call, where the table knows it.
#[must_use]
pub fn name(number: u32) -> Option<&'static str> {
    entry(number).map(|row| row.name)
}

#[cfg(test)]
mod tests;
