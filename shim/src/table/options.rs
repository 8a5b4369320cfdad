//! What a decision of the table may depend on.

use super::Switch;

/// What the filter depends on, apart from the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterOptions {
    /// AF_UNIX datagram sockets may be made; every `sendto`, `sendmsg` and `sendmmsg` is then judged.
    pub unix_datagram: bool,
    /// `ptrace` may be used within the tree.
    pub allow_ptrace: bool,
    /// Landlock keeps signals inside the tree (ABI 6), so that `kill` and its kin need not be judged.
    pub scoped_signals: bool,
    /// The floor decides as the policy does what is read: what opens files only to read them is not held.
    pub kernel_reads: bool,
    /// The same of what is written: what opens files only to write them, or removes names, is not held.
    pub kernel_writes: bool,
}

impl FilterOptions {
    /// How many choices there are.
    pub(crate) const CHOICES: usize = 1 << 5;

    /// The number of this choice.
    pub(crate) fn number(self) -> usize {
        let FilterOptions { unix_datagram, allow_ptrace, scoped_signals, kernel_reads, kernel_writes } = self;
        [unix_datagram, allow_ptrace, scoped_signals, kernel_reads, kernel_writes]
            .into_iter()
            .rev()
            .fold(0, |number, is_set| number << 1 | usize::from(is_set))
    }

    /// Whether the option of a switch is set.
    #[must_use]
    pub fn is_set(&self, switch: Switch) -> bool {
        match switch {
            Switch::UnixDatagram => self.unix_datagram,
            Switch::AllowPtrace => self.allow_ptrace,
            Switch::ScopedSignals => self.scoped_signals,
            Switch::KernelReads => self.kernel_reads,
            Switch::KernelWrites => self.kernel_writes,
        }
    }
}
