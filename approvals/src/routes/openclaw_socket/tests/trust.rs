//! Where the socket is, and which listeners are trusted.

use super::super::paths::make;
use super::*;
use crate::testing::python;

#[test]
fn a_member_of_the_tree_is_told_nothing() {
    let fixture = SocketGuard { is_member: true, ..PLAIN }.start(state());
    let listener = fixture.listen();
    let ticket = fixture.waiting(question(&["/bin/a"]));
    let (mut stream, _) = listener.accept().unwrap();
    let _ = stream.write_all(&decision(&json!(ticket.call().to_string()), "allow-once"));
    let mut reply = String::new();
    let _ = stream.read_to_string(&mut reply);
    assert_eq!(reply, "");
    fixture.warned("may not answer");
    assert!(matches!(fixture.approvals.manager().find(&ticket.call().to_string()), Ok(Lookup::Pending(_))));
}

#[test]
fn a_listener_that_has_ended_is_not_trusted_by_its_number() {
    // A child listens and ends; its socket lives on in this process.
    let fixture = PLAIN.start(state());
    let script = "import os, socket, sys\n\
        s = socket.socket(socket.AF_UNIX)\n\
        s.bind(sys.argv[1])\n\
        pid = os.fork()\n\
        if pid == 0:\n    s.listen()\n    os._exit(0)\n\
        os.waitpid(pid, 0)\n\
        print('there', flush=True)\n\
        s.accept()[0].recv(1)\n\
        print('told', flush=True)\n\
        sys.stdin.read()\n";
    let Some(mut child) = python(script, &[fixture.path().as_os_str()]) else { return };
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "there");
    let _ticket = fixture.waiting(question(&["/bin/a"]));
    fixture.warned("has ended");
    drop(child.stdin.take());
    child.wait().unwrap();
}

#[test]
fn only_a_socket_of_this_user_is_connected_to() {
    let fixture = PLAIN.start(state());
    let elsewhere = fixture.state.path().join("elsewhere");
    let listener = UnixListener::bind(&elsewhere).unwrap();
    listener.set_nonblocking(true).unwrap();
    symlink(&elsewhere, fixture.path()).unwrap();
    let _ticket = fixture.waiting(question(&["/bin/a"]));
    fixture.warned("it is no socket");
    fs::remove_file(fixture.path()).unwrap();
    fs::write(fixture.path(), "").unwrap();
    let _other = fixture.waiting(question(&["/bin/b"]));
    assert!(listener.accept().is_err());
    if rustix::process::geteuid().is_root() {
        fs::remove_file(fixture.path()).unwrap();
        drop(fixture.listen());
        std::os::unix::fs::chown(fixture.path(), Some(12_345), None).unwrap();
        let _third = fixture.waiting(question(&["/bin/c"]));
        fixture.warned("it belongs to another user (12345)");
    }
}

#[test]
fn where_the_socket_is_and_what_opens_it() {
    let home = tempfile::tempdir().unwrap();
    let home = home.path().canonicalize().unwrap();
    let state = home.join("state");
    let find = || Endpoint::find(&state, &home);
    assert_eq!(find().unwrap(), Endpoint { path: state.join(NAME), token: None });
    let made = make(&state).unwrap();
    assert_eq!((made.text().len(), &make(&state).unwrap()), (64, &made));
    assert_eq!(find().unwrap().token.as_ref(), Some(&made));
    assert!(!state.join("exec-approvals.json").exists());
    let own = state.join("guard/socket-token");
    let mode = |path: &PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&own), mode(&state.join("guard")), mode(&state)), (0o600, 0o700, 0o700));
    // The store's values come first. The guard's own values replace those that are missing.
    let store = |socket: Value| {
        let store = json!({"version": 1, "socket": socket});
        fs::write(state.join("exec-approvals.json"), store.to_string()).unwrap();
    };
    store(json!({"path": " ~/run/x.sock ", "token": "t"}));
    let found = find().unwrap();
    assert_eq!((found.path, found.token.unwrap().text()), (home.join("run/x.sock"), "t"));
    store(json!({"path": "~/run/x.sock"}));
    assert_eq!(find().unwrap(), Endpoint { path: home.join("run/x.sock"), token: Some(made.clone()) });
    for path in ["x.sock", "/", "~", "~other/x", "/x/.."] {
        store(json!({"path": path}));
        assert_eq!(find().is_ok(), path == "~", "{path}");
    }
    fs::write(state.join("exec-approvals.json"), "{").unwrap();
    assert!(find().is_err());
    fs::remove_file(state.join("exec-approvals.json")).unwrap();
    // A token that others can read, no token, or something that is not a file.
    fs::set_permissions(&own, fs::Permissions::from_mode(0o640)).unwrap();
    assert!(find().unwrap_err().to_string().contains("others may read it"));
    fs::set_permissions(&own, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&own, " \n").unwrap();
    assert!(find().unwrap_err().to_string().contains("it is empty"));
    fs::remove_file(&own).unwrap();
    symlink("/dev/zero", &own).unwrap();
    assert!(find().is_err());
    assert_eq!(format!("{made:?}"), "Token");
    assert!(made.is(made.text()) && !made.is(&made.text()[1..]) && !made.is(""));
}
