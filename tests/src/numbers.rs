//! Numbers of system calls, for scripts that make a call by its number. From 424 on, all architectures have the same ones.

/// The number of a system call as a literal, which `concat!` takes.
#[cfg(target_arch = "x86_64")]
#[macro_export]
#[rustfmt::skip]
macro_rules! number {
    (clone) => { 56 };
    (execve) => { 59 };
    (ptrace) => { 101 };
    (setrlimit) => { 160 };
    (mq_open) => { 240 };
    (mq_unlink) => { 241 };
    (add_key) => { 248 };
    (keyctl) => { 250 };
    (renameat2) => { 316 };
    (seccomp) => { 317 };
}

/// The number of a system call as a literal, which `concat!` takes.
#[cfg(target_arch = "aarch64")]
#[macro_export]
#[rustfmt::skip]
macro_rules! number {
    (clone) => { 220 };
    (execve) => { 221 };
    (ptrace) => { 117 };
    (setrlimit) => { 164 };
    (mq_open) => { 180 };
    (mq_unlink) => { 181 };
    (add_key) => { 217 };
    (keyctl) => { 219 };
    (renameat2) => { 276 };
    (seccomp) => { 277 };
}

/// The beginning of a command that exchanges two names.
#[macro_export]
macro_rules! exchange {
    () => {
        concat!("perl -e 'syscall(", $crate::number!(renameat2), ", -100, $ARGV[0], -100, $ARGV[1], 2)'")
    };
}

#[cfg(test)]
mod tests {
    use guard_shim::table::{self, Architecture};

    #[test]
    fn they_are_those_of_this_architecture() {
        macro_rules! checked {
            ($($name:ident),+) => { $(
                let row = table::named(Architecture::THIS, stringify!($name));
                assert_eq!(row.map(|row| row.number), Some(number!($name)), stringify!($name));
            )+ };
        }
        checked!(clone, execve, ptrace, setrlimit, mq_open, mq_unlink, add_key, keyctl, renameat2, seccomp);
    }
}
