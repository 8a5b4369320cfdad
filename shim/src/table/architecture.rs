//! The processors that the guard runs on.

/// A processor, as the kernel distinguishes them in numbers of system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Architecture {
    /// x86-64, in its 64-bit mode.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
}

impl Architecture {
    /// All of them.
    pub const ALL: [Architecture; 2] = [Architecture::X86_64, Architecture::Aarch64];

    /// The one that this code is compiled for.
    #[cfg(target_arch = "x86_64")]
    pub const THIS: Architecture = Architecture::X86_64;
    /// The one that this code is compiled for.
    #[cfg(target_arch = "aarch64")]
    pub const THIS: Architecture = Architecture::Aarch64;

    /// Finds the architecture by the name that Rust and uname(2) have for it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Architecture> {
        Architecture::ALL.into_iter().find(|architecture| architecture.as_str() == name)
    }

    /// The name that Rust and uname(2) have for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Architecture::X86_64 => "x86_64",
            Architecture::Aarch64 => "aarch64",
        }
    }

    /// The number that a filter sees in each call: `AUDIT_ARCH_X86_64` or `AUDIT_ARCH_AARCH64` (linux/audit.h).
    #[must_use]
    pub const fn audit(self) -> u32 {
        match self {
            Architecture::X86_64 => 0xc000_003e,
            Architecture::Aarch64 => 0xc000_00b7,
        }
    }
}
