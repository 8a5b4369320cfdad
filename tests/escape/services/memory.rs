//! Keys that the kernel keeps for the user.

use std::any::Any;
use std::fs;
use std::process::{Command, Stdio};

use guard_tests::{Arena, number, program};

use crate::attempt::{Outside, attacks, python};

/// Adds a key to the user's own ring, lets the user read it, and prints its number.
const ADD: &str = concat!(
    "
import ctypes, sys
libc = ctypes.CDLL(None)
key = libc.syscall(",
    number!(add_key),
    ", b'user', sys.argv[1].encode(), sys.argv[2].encode(), len(sys.argv[2]), -4)
libc.syscall(",
    number!(keyctl),
    ", 5, key, 0x3f3f0000)
print(key)"
);

/// Removes the key.
const REMOVE: &str = concat!(
    "
import ctypes, sys
libc = ctypes.CDLL(None)
libc.syscall(",
    number!(keyctl),
    ", 9, int(sys.argv[1]), -4)"
);

struct Key(String);

impl Drop for Key {
    fn drop(&mut self) {
        python3(REMOVE, &[&self.0]);
    }
}

fn python3(code: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program("python3"));
    command.args(["-I", "-c", code]).args(arguments).stdin(Stdio::null());
    String::from_utf8(command.output().expect("python").stdout).expect("text").trim().to_owned()
}

/// Adds a key of the user's that holds the secret. `work/key` contains its number.
fn key(arena: &Arena) -> Outside {
    let secret = fs::read_to_string(arena.root().join("shut/file")).expect("the secret");
    let name = format!("guard-test-{}", arena.root().display());
    let number = python3(ADD, &[&name, &secret]);
    fs::write(arena.root().join("work/key"), &number).expect("a file");
    let key: Box<dyn Any> = Box::new(Key(number));
    key
}

attacks! {
    a_key_of_the_users => python("
text = ctypes.create_string_buffer(99)
call(250, 11, int(open('key').read()), text, 99)
tell(text.raw)").with(key);
    a_key_of_the_users_by_its_name => python("
found = call(250, 10, -4, b'user', b'guard-test-' + R.rstrip('/').encode(), 0)
text = ctypes.create_string_buffer(99)
call(250, 11, found, text, 99)
tell(text.raw)").with(key);
    a_key_that_is_asked_for => python("
found = call(249, b'user', b'guard-test-' + R.rstrip('/').encode(), 0, 0)
text = ctypes.create_string_buffer(99)
call(250, 11, found, text, 99)
tell(text.raw)").with(key);
}
