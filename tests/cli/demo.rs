//! `openclaw-guard demo` needs nothing of the user's, and leaves nothing.

use std::process::Command;
use std::time::Duration;

use guard_tests::{Emulator, Replies, World, ended, guard, until};

fn demo(world: &World) -> Command {
    let mut command = Command::new(guard());
    let tmp = world.root().join("tmp");
    std::fs::create_dir_all(&tmp).expect("a directory");
    command.arg("demo").env("HOME", world.home()).env("TMPDIR", tmp).env("TERM", "xterm");
    command.env_remove("OPENCLAW_STATE_DIR").env_remove("OPENCLAW_HOME").current_dir(world.work());
    command
}

fn nothing_is_left(world: &World) {
    for directory in ["tmp", "home", "work"] {
        let left: Vec<_> = std::fs::read_dir(world.root().join(directory)).expect("a directory").collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

#[test]
fn without_a_terminal_it_says_what_it_would_have_asked() {
    let world = World::bare();
    let shown = ended(&mut demo(&world));
    assert_eq!(shown.status, 0, "{}\n{}", shown.stdout, shown.stderr);
    for text in ["made here", "$ openclaw-guard -- cat ~/.ssh/id_rsa", "ask read", "With a yes"] {
        assert!(shown.stdout.contains(text), "{text}: {}\n{}", shown.stdout, shown.stderr);
    }
    assert!(shown.stderr.contains("denied read") && !shown.stdout.contains("decoy: not"), "{}", shown.stderr);
    nothing_is_left(&world);
}

#[test]
fn on_a_terminal_it_asks() {
    for (key, result) in [("y", "That was your yes."), ("n", "Without a yes, the call is denied.")] {
        let world = World::bare();
        let mut screen = Emulator::start(&demo(&world), (50, 110), Replies::Given);
        screen.expect("may this file be used?");
        // The prompt ignores what is typed in its first half second.
        until("the key is taken", || {
            std::thread::sleep(Duration::from_millis(1000));
            let taken = screen.still().text().iter().any(|row| row.trim() == format!("> {key}"));
            if !taken {
                screen.keys(key);
            }
            taken
        });
        screen.keys("\r");
        let picture = screen.expect(result);
        assert_eq!(picture.text.contains("Dear reader"), key == "y", "{}", picture.text);
        assert_eq!(screen.end(), 0);
        nothing_is_left(&world);
    }
}
