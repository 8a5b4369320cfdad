//! The options that a row of the table may depend on.

use super::Switch;

/// The options of the filter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilterOptions {
    /// Allow AF_UNIX datagram sockets.
    pub unix_datagram: bool,
    /// Allow `ptrace` within the tree.
    pub allow_ptrace: bool,
    /// Landlock keeps signals inside the tree (ABI 6), so `kill` and similar calls need not be judged.
    pub scoped_signals: bool,
    /// Landlock decides on reads exactly as the policy does, so opens that only read are not held.
    pub kernel_reads: bool,
    /// Landlock decides on writes exactly as the policy does, so opens that only write and removals of names are not
    /// held.
    pub kernel_writes: bool,
    /// There is no network at all, so TCP sockets are held, too. listen(2) is not held, and it would bind a socket that
    /// has no address yet.
    pub no_network: bool,
}

impl FilterOptions {
    /// The number of combinations of options.
    pub(crate) const CHOICES: usize = 1 << 6;

    /// The number of this combination.
    pub(crate) fn number(self) -> usize {
        let FilterOptions {
            unix_datagram,
            allow_ptrace,
            scoped_signals,
            kernel_reads,
            kernel_writes,
            no_network,
        } = self;
        [unix_datagram, allow_ptrace, scoped_signals, kernel_reads, kernel_writes, no_network]
            .into_iter()
            .rev()
            .fold(0, |number, is_set| number << 1 | usize::from(is_set))
    }

    /// Whether the option of this switch is set.
    #[must_use]
    pub fn is_set(&self, switch: Switch) -> bool {
        match switch {
            Switch::UnixDatagram => self.unix_datagram,
            Switch::AllowPtrace => self.allow_ptrace,
            Switch::ScopedSignals => self.scoped_signals,
            Switch::KernelReads => self.kernel_reads,
            Switch::KernelWrites => self.kernel_writes,
            Switch::NoNetwork => self.no_network,
        }
    }
}
