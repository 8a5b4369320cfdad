//! An interpreter of the part of classic BPF that the filter uses. It shows what the kernel would return.

use libc::sock_filter;

/// `struct seccomp_data`: what the filter sees of a system call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeccompData {
    pub(crate) number: u32,
    pub(crate) architecture: u32,
    pub(crate) arguments: [u64; 6],
}

impl SeccompData {
    fn word(&self, offset: u32) -> u32 {
        match offset {
            0 => self.number,
            4 => self.architecture,
            8 | 12 => 0,
            _ if offset & 3 == 0 => {
                let half = (offset - 16) / 4;
                (self.arguments[(half / 2) as usize] >> (32 * (half % 2))) as u32
            }
            _ => panic!("load from {offset}"),
        }
    }
}

/// Runs the program. Panics if the kernel would refuse to load it.
pub(crate) fn interpret(program: &[sock_filter], call: &SeccompData) -> u32 {
    let mut accumulator = 0u32;
    let mut at = 0usize;
    loop {
        let sock_filter { code, jt, jf, k } = program[at];
        at += 1;
        let branch = |taken: bool| usize::from(if taken { jt } else { jf });
        match code {
            0x20 => accumulator = call.word(k),         // load an absolute word
            0x54 => accumulator &= k,                   // and
            0x05 => at += k as usize,                   // jump
            0x15 => at += branch(accumulator == k),     // jump if equal
            0x25 => at += branch(accumulator > k),      // jump if greater
            0x35 => at += branch(accumulator >= k),     // jump if greater or equal
            0x45 => at += branch(accumulator & k != 0), // jump if any bit is set
            0x06 => return k,                           // return
            _ => panic!("instruction {code:#x} at {}", at - 1),
        }
    }
}
