//! Terminal programs: tmux, vim, less and what they start.

use guard_tests::{World, has};

#[test]
fn tmux_in_the_tree() {
    if !has(&["tmux"]) {
        return;
    }
    let script = r#"
        export TMUX_TMPDIR=$PWD SHELL=/bin/sh; t() { tmux -f /dev/null -L s "$@"; }; shows() { for i in $(seq 200); do t capture-pane -p -t $1 | grep -q "$2" && return; sleep 0.05; done; t capture-pane -p -t $1; }
        t new-session -d -s one -x 80 -y 24 'PS1="\$ " sh -i' && t list-sessions -F '#S #{window_width}x#{window_height}' && t new-window -t one: -n two 'PS1="\$ " sh -i' && t split-window -t one:two 'cat > typed'
        shows one:0 '^[$]'; shows one:two.0 '^[$]'; t send-keys -t one:0 "tty | tr -d 0-9; stty size; echo do''ne" Enter && shows one:0 done && t capture-pane -p -t one:0 | grep -v '^$'; t send-keys -t one:two.1 'into cat' Enter C-d
        for i in $(seq 200); do [ $(t list-panes -t one:two | wc -l) = 1 ] && break; sleep 0.05; done; t list-panes -s -t one -F '#{pane_current_command} #{pane_dead}' | sort; t set-buffer pasted && t paste-buffer -t one:two.0 && shows one:two.0 pasted; t run-shell 'echo ran > ran'; t wait-for -L lock && t wait-for -U lock
        t resize-window -t one:0 -x 100 -y 30 && t send-keys -t one:0 clear Enter "stty size; echo re''sized" Enter && shows one:0 resized && t capture-pane -p -t one:0 | grep -e 100 -e resized | tail -2
        cat ran typed; find . -type s | sed "s/-$(id -u)/-UID/"; t has-session -t one && echo there; t kill-server; for i in $(seq 200); do t ls 2>&1 | grep -q 'no server' && break; sleep 0.05; done; t ls 2>&1 | sed 's#/.*/#/#'; rm -rf tmux-*"#;
    let same = World::open().same_script(script, &[]);
    assert!(same.native.stdout.contains("into cat"), "{}", same.native.stdout);
}

/// The server outlives the command that started it, and serves the next one.
#[test]
fn a_server_outlives_its_command() {
    if !has(&["tmux"]) {
        return;
    }
    let world = World::open();
    let start = "tmux -f /dev/null -S s new-session -d -s one 'PS1= exec sh -i'; echo $?";
    let use_it = "tmux -S s send-keys -t one 'echo still > still' Enter; for i in $(seq 200); do test -s still && break; sleep 0.05; done; cat still; tmux -S s kill-server; echo $?";
    assert_eq!(world.guarded(&["sh", "-c", start]).stdout, "0\n");
    // A client from outside the tree, which is not guarded.
    let used = world.native(&["sh", "-c", use_it]);
    assert_eq!(used.stdout, "still\n0\n", "{}", used.stderr);
}

/// A socket that a dead server left does not block a new one.
#[test]
fn a_new_server_replaces_a_socket_that_was_left() {
    if !has(&["tmux"]) {
        return;
    }
    let script = "t() { tmux -f /dev/null -S left-behind \"$@\"; }; test -S left-behind && t new-session -d -s one cat && t ls -F '#S' && t kill-server";
    let leave_socket = |world: &World| {
        std::os::unix::net::UnixListener::bind(world.work().join("left-behind")).expect("a socket");
    };
    let same = World::open().same(leave_socket, &["sh", "-c", script], &[]);
    assert!(same.native.stdout.starts_with("one\n"), "{}", same.native.stdout);
}

#[test]
fn vim_edits_without_a_screen() {
    if !has(&["vim"]) {
        return;
    }
    let script = r#"
        seq 20 > f && chmod 640 f && ln f g; vim -u NONE -i info -es -c 'set backup backupcopy=yes' -c '%s/1/one/g' -c 'normal Goend' -c wq f; echo $?; cat f f~; stat -c '%a %h' f; stat -c %a f~
        vim -u NONE -i NONE -es -c 'set undofile undodir=. backupcopy=no writebackup' -c '1d' -c 'silent !echo shell > by-shell' -c 'r !echo read' -c 'w new' -c 'e! f' -c '1,3d|w' -c 'sp other' -c 'call writefile(["a"], "w")' -c 'call mkdir("d")' -c wqa f; echo $?; cat by-shell new f | cksum; ls -A
        vim -u NONE -i NONE -es -c 'w' -c q none/f; echo $?; vim -u NONE -i NONE -es -c 'e f' -c 'set ro' -c 'w' -c 'redir > messages' -c 'silent echo getfperm("f") filereadable("f") isdirectory("d") resolve("f") glob("*") system("echo sys")' -c 'qa!'; cat messages; rm -f .*.un~ info"#;
    let same = World::open().same_script(&format!("set +e\n{script}; true"), &[]);
    assert!(same.native.stdout.contains("end"), "{}", same.native.stdout);
}
