//! The tree makes and removes a name all the time while the operator gives it to something of his own: what he has put there
//! does not count as the tree's.

use std::fs;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use guard_tests::{World, until};

/// How often the operator gives the name to something of his.
const ATTEMPTS: usize = 200;

/// What each attacker begins with: threads that repeat a call until the operator ends them, or for two minutes.
const THREADS: &str = r#"
import os, socket, threading, time
end = time.time() + 120
def repeat(*calls):
    def run():
        while not os.path.exists("stop") and time.time() < end:
            for call in calls:
                try: call()
                except OSError: pass
    threading.Thread(target=run).start()
"#;

/// Runs the attackers while the operator acts. Returns what the tree and the guard said.
fn attacked(world: &World, attackers: &str, operator: impl FnOnce()) -> guard_tests::Ended {
    let script = format!("{THREADS}{attackers}\nopen(\"ready\", \"w\").close()");
    let held = world.start(&["python3", "-c", &script]);
    until("it attacks", || world.read("work/ready").is_some());
    // The attackers end also if the operator does not come to an end.
    let stop = Stop(world.work().join("stop"));
    operator();
    drop(stop);
    held.end()
}

struct Stop(std::path::PathBuf);

impl Drop for Stop {
    fn drop(&mut self) {
        let _ = fs::write(&self.0, "");
    }
}

/// Does it until it succeeds: the tree has the name most of the time.
fn at_last<T>(mut what: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(done) = what() {
            return done;
        }
        assert!(Instant::now() < end, "it never succeeds");
    }
}

/// What a server has heard, once a client of the operator's has come by its name, or cannot.
fn heard_by(listener: &UnixListener, path: &Path) -> Vec<String> {
    let say = || UnixStream::connect(path).and_then(|mut stream| stream.write_all(b"mine"));
    // The tree may have taken the name away.
    (0..20).any(|_| {
        say().is_ok() || {
            std::thread::sleep(Duration::from_millis(5));
            false
        }
    });
    listener.set_nonblocking(true).expect("a mode");
    let clients = std::iter::from_fn(|| listener.accept().ok());
    clients
        .map(|(mut client, _)| {
            let mut text = String::new();
            client.set_read_timeout(Some(Duration::from_secs(5))).expect("a time");
            let _ = client.read_to_string(&mut text);
            text
        })
        .collect()
}

fn world() -> World {
    World::open().with_persistence(true)
}

#[test]
fn a_server_that_starts_meanwhile_is_not_the_trees() {
    let world = world();
    let path = world.work().join("server");
    let attackers = r#"
def bind():
    with socket.socket(socket.AF_UNIX) as s: s.bind("server"); s.listen()
def bind_and_move():
    with socket.socket(socket.AF_UNIX) as s: s.bind("other"); s.listen(); os.rename("other", "server")
def connect():
    with socket.socket(socket.AF_UNIX) as s: s.connect("server"); s.sendall(b"evil")
def remove(): os.unlink("server")
for calls in (bind, remove), (remove,), (bind_and_move, remove), (connect,): repeat(*calls)
"#;
    let mut reached = 0;
    let ended = attacked(&world, attackers, || {
        for _ in 0..ATTEMPTS {
            let listener = at_last(|| {
                let _ = fs::remove_file(&path);
                UnixListener::bind(&path).ok()
            });
            std::thread::sleep(Duration::from_millis(5));
            let heard = heard_by(&listener, &path);
            reached += usize::from(heard.iter().any(|text| text != "mine"));
        }
    });
    assert_eq!((reached, ended.status), (0, 0), "of {ATTEMPTS} servers: reached; {}", ended.stderr);
}

#[test]
fn a_directory_that_is_moved_there_meanwhile_is_not_the_trees() {
    let world = world();
    // Where no attacker looks.
    let (own, path) = (world.home().join("project"), world.work().join("d"));
    world.write("home/project/.git/hooks/pre-commit", "mine");
    for name in ["objects", "refs"] {
        fs::create_dir(own.join(".git").join(name)).expect("a directory");
    }
    world.write("home/project/.git/HEAD", "ref: refs/heads/main\n");
    world.write("home/project/.git/config", "[core]\n");
    let inode = fs::metadata(&own).expect("it is there").ino();
    let attackers = r#"
def make(): os.mkdir("d")
def remove(): os.rmdir("d")
def move(): os.rename("d", "x")
def clear(): os.rmdir("x")
def arrive(): os.mkdir("y"); os.rename("y", "d")
def write(): os.close(os.open("d/.git/hooks/pre-commit", os.O_WRONLY | os.O_TRUNC))
def plant(): os.close(os.open("d/.git/hooks/post-commit", os.O_WRONLY | os.O_CREAT))
for calls in (make, remove), (make, move, clear), (arrive, remove), (write, plant): repeat(*calls)
"#;
    // Wherever it is moved to, it is this one.
    let open = fs::File::open(&own).expect("it is there");
    let hooks = PathBuf::from(format!("/proc/self/fd/{}/.git/hooks", open.as_raw_fd()));
    let is_back = || fs::metadata(&own).is_ok_and(|there| there.ino() == inode);
    let take_back = || {
        for name in [path.clone(), world.work().join("x")] {
            if fs::rename(name, &own).is_ok() && is_back() {
                return Some(());
            }
            // An empty one of the tree's.
            let _ = fs::remove_dir(&own);
        }
        None
    };
    let mut is_written = false;
    let ended = attacked(&world, attackers, || {
        for attempt in 0..ATTEMPTS as u64 {
            // Let the attackers get going, and meet them at another point each time.
            std::thread::sleep(Duration::from_micros(1000 + attempt * 370 % 3000));
            at_last(|| fs::rename(&own, &path).ok());
            std::thread::sleep(Duration::from_millis(5));
            let is_mine = fs::read_to_string(hooks.join("pre-commit")).is_ok_and(|text| text == "mine");
            is_written |= !is_mine || hooks.join("post-commit").exists();
            at_last(take_back);
        }
    });
    assert!(!is_written && ended.status == 0, "{}", ended.stderr);
}
