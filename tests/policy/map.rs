//! The map of OpenClaw's issue #39979, tried live: every place and every right, by effect.
//!
//! `/tmp/openclaw` of the issue is a directory of the test, since one may exist already. `exec.security` is
//! full and the system may be read and run, or no program could be tried.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use guard_tests::World;

/// Each place, and what the map grants there.
const PLACES: [(&str, &str); 8] = [
    ("home/workspace", "rw-"),
    ("home/workspace/bin", "r-x"),
    ("home/documents", "rw-"),
    ("tmp-openclaw", "rwx"),
    ("home/.openclaw", "---"),
    ("home/.ssh", "---"),
    ("home/.gnupg", "---"),
    ("home/other", "---"),
];

pub fn world() -> World {
    let world = World::bare().policy(
        r#"{"version": 1, "exec": {"security": "full", "ask": "off"},
            "permissions": {"filesystem": {
                "rules": {"~/workspace/**": "rw-", "~/workspace/bin/**": "r-x", "~/documents/**": "rw-", "@/tmp-openclaw/**": "rwx", SYSTEM},
                "deny": ["~/.openclaw/**", "~/.ssh/**", "~/.gnupg/**"], "default": "---"}}}"#,
    );
    for (directory, _) in PLACES {
        world.write(format!("{directory}/file"), "content\n");
        world.write(format!("{directory}/victim"), "victim\n");
        world.write(format!("{directory}/sub/inner"), "inner\n");
        for (name, text) in
            [("script", b"#!/bin/sh\necho ran\n".to_vec()), ("prog", fs::read("/bin/echo").expect("echo"))]
        {
            let path = world.write(format!("{directory}/{name}"), text);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
        }
    }
    world
}

fn grants(rights: &str, right: char) -> bool {
    rights.contains(right)
}

/// Runs lines in one guard, each in a shell of its own, in which `$D` is the place and `$N` the line's number. Returns what
/// each wrote, and all errors.
fn run_each(world: &World, directory: &str, lines: &[&str]) -> (Vec<String>, String) {
    let each = |(number, line): (usize, &&str)| format!("(N={number}\n{line}\n)\nprintf '\\1'\n");
    let script: String = lines.iter().enumerate().map(each).collect();
    let ended = run(world, directory, &script);
    let mut written: Vec<String> = ended.stdout.split('\u{1}').map(str::to_owned).collect();
    assert_eq!(written.pop().as_deref(), Some(""), "{}", ended.stderr);
    assert_eq!(written.len(), lines.len(), "{}", ended.stderr);
    (written, ended.stderr)
}

/// Runs a line in which `$D` is the place.
fn run(world: &World, directory: &str, line: &str) -> guard_tests::Ended {
    let directory = world.root().join(directory);
    // Starts in a directory that may be read, so that only the place matters.
    world.guarded(&["bash", "-c", &format!("cd /usr; D={}; {line}", directory.display())])
}

#[test]
fn reading() {
    let world = world();
    let readers = [
        "cat $D/file",
        "cat < $D/file",
        "dd if=$D/file status=none",
        "sed -n p $D/file",
        "perl -pe 1 $D/file",
        "head -n1 $D/file",
        "grep content $D/file",
        "while read l; do echo $l; done < $D/file",
        "tar -C $D -cf - file | tar -xOf -",
        "/usr/bin/python3 -c \"print(open('$D/file').read(), end='')\"",
        "cat $D/../${D##*/}/./file",
        "cd $D && cat file",
        "cat /proc/self/root$D/file",
        "awk 1 $D/file",
        "sort $D/file",
        "cat $D/sub/../file",
        "read l < $D/file && echo $l",
    ];
    let listers = ["ls $D", "find $D -maxdepth 1", "echo $D/*", "cd $D; echo *"];
    for (directory, rights) in PLACES {
        let (written, errors) = run_each(&world, directory, &[&readers[..], &listers[..]].concat());
        let (read, listed) = written.split_at(readers.len());
        for (line, out) in readers.iter().zip(read) {
            assert_eq!(
                out == "content\n",
                grants(rights, 'r'),
                "{directory} {rights}: {line}: {out:?} {errors}"
            );
            assert!(grants(rights, 'r') || !out.contains("content"), "{directory}: {line}");
        }
        for (line, out) in listers.iter().zip(listed) {
            assert_eq!(out.contains("victim"), grants(rights, 'r'), "{directory} {rights}: {line}: {out:?}");
        }
    }
}

#[test]
fn changing_what_is_there() {
    let lines = [
        "echo new > $D/file$N",
        "echo new >> $D/file$N",
        "echo new | tee $D/file$N",
        "echo new | dd of=$D/file$N status=none",
        "truncate -s 3 $D/file$N",
        "sed -i s/content/new/ $D/file$N",
        "perl -pi -e s/content/new/ $D/file$N",
        "/usr/bin/python3 -c \"open('$D/file$N', 'r+').write('new')\"",
        "echo new > /proc/self/root$D/file$N",
        "cat > $D/file$N <<EOF\nnew\nEOF",
        "exec 3<> $D/file$N; echo new >&3",
        "cp /etc/hostname $D/file$N",
        "sort -u -o $D/file$N /etc/passwd",
        "cd $D && echo new > sub/../file$N",
        ": > $D/file$N",
        "chmod 600 $D/file$N",
        "touch -d @5 $D/file$N",
    ];
    for (directory, rights) in PLACES {
        let world = world();
        let files: Vec<_> = (0..lines.len())
            .map(|number| {
                let path = world.write(format!("{directory}/file{number}"), "content\n");
                fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
                path
            })
            .collect();
        let state = |path: &PathBuf| {
            let metadata = fs::metadata(path).expect("the file");
            (fs::read(path).ok(), metadata.permissions().mode(), metadata.modified().ok())
        };
        let before: Vec<_> = files.iter().map(state).collect();
        let (_, errors) = run_each(&world, directory, &lines);
        for ((line, path), before) in lines.iter().zip(&files).zip(before) {
            assert_eq!(state(path) != before, grants(rights, 'w'), "{directory} {rights}: {line}: {errors}");
        }
    }
}

#[test]
fn making_and_removing() {
    let makers = [
        "echo x > $D/made$N",
        "touch $D/made$N",
        "mkdir $D/made$N",
        "mkdir -p $D/made$N/deep",
        "ln -s x $D/made$N",
        "mkfifo $D/made$N",
        "cp /etc/hostname $D/made$N",
        "tee $D/made$N < /dev/null",
        "git init -q $D/made$N",
        "tar -C /etc -cf $D/made$N hostname",
        "install -d $D/made$N",
        "/usr/bin/python3 -c \"import os; os.mknod('$D/made$N')\"",
        "mktemp -d $D/made$N.XXX | xargs -I{} mv {} $D/made$N",
    ];
    let removers = [
        "rm -f $D/victim$N",
        "unlink $D/victim$N",
        "find $D -name victim$N -delete",
        "mv $D/victim$N $D/gone$N",
        "perl -e \"unlink '$D/victim$N'\"",
        "/usr/bin/python3 -c \"import os; os.remove('$D/victim$N')\"",
        "cd $D && rm -f victim$N",
        "rm -rf $D/sub",
    ];
    for (directory, rights) in PLACES {
        let world = world();
        let place = world.root().join(directory);
        let (_, errors) = run_each(&world, directory, &makers);
        for (number, line) in makers.iter().enumerate() {
            let is_made = place.join(format!("made{number}")).symlink_metadata().is_ok();
            assert_eq!(is_made, grants(rights, 'w'), "{directory} {rights}: {line}: {errors}");
        }
        let victim = |number: usize| match removers[number].contains("victim") {
            true => place.join(format!("victim{number}")),
            false => place.join("sub/inner"),
        };
        for number in 0..removers.len() {
            world.write(victim(number), "victim\n");
        }
        let (_, errors) = run_each(&world, directory, &removers);
        for (number, line) in removers.iter().enumerate() {
            let is_gone = !victim(number).exists();
            assert_eq!(is_gone, grants(rights, 'w'), "{directory} {rights}: {line}: {errors}");
        }
    }
}

#[test]
fn running() {
    let world = world();
    let lines = [
        "$D/script",
        "$D/prog ran",
        "exec $D/script",
        "env $D/prog ran",
        "cd $D && ./script",
        "PATH=$D:$PATH script",
        "/usr/bin/python3 -c \"import os; os.execv('$D/prog', ['x', 'ran'])\"",
        "perl -e \"exec '$D/prog', 'ran'\"",
        "find $D/script -exec {} \\;",
        "(exec -a sh $D/prog ran)",
        // A shell that may run can interpret what may be read; the map's documentation says so too.
        "sh $D/script",
    ];
    for (directory, rights) in PLACES {
        let (written, errors) = run_each(&world, directory, &lines);
        for (line, out) in lines.iter().zip(&written) {
            let right = if line.starts_with("sh ") { 'r' } else { 'x' };
            assert_eq!(out == "ran\n", grants(rights, right), "{directory} {rights}: {line}: {errors}");
        }
    }
}

/// Moves from every place to every other in every way: nothing arrives where it may not be written, nothing
/// leaves where it may not be read, and nothing gains a right by moving.
#[test]
fn moving_between_places() {
    let ways = [
        "cp $D/victim $T/arrived",
        "mv $D/victim $T/arrived",
        "ln $D/victim $T/arrived",
        "cat $D/victim > $T/arrived",
        "tar -C $D -cf - victim | tar -C $T --transform s/victim/arrived/ -xf -",
        "rename",
    ];
    for (from, of) in PLACES {
        let world = world();
        // Uses one guard for everything that leaves a place; each move and its target have a number.
        let moves: Vec<_> = PLACES.iter().flat_map(|(to, at)| ways.map(|line| (*to, *at, line))).collect();
        let mut script = String::new();
        for (number, (to, _, line)) in moves.iter().enumerate() {
            world.write(format!("{from}/victim{number}"), "victim\n");
            let call = line
                .replace("rename", "perl -e \"rename '$D/victim', '$T/arrived' or die qq($!)\"")
                .replace("$T", &world.root().join(to).display().to_string())
                .replace("victim", &format!("victim{number}"))
                .replace("arrived", &format!("arrived{number}"));
            script.push_str(&format!("({call})\n"));
        }
        let ended = run(&world, from, &script);
        for (number, (to, at, line)) in moves.into_iter().enumerate() {
            let source = world.root().join(from).join(format!("victim{number}"));
            let target = world.root().join(to).join(format!("arrived{number}"));
            let arrived = fs::read_to_string(&target).unwrap_or_default() == "victim\n";
            let is_gain = at.chars().zip(of.chars()).any(|(there, here)| there != '-' && here == '-');
            let expected = match line.split(' ').next().expect("a word") {
                "ln" => grants(at, 'w') && !is_gain,
                "rename" => grants(of, 'w') && grants(at, 'w') && !is_gain,
                // mv copies only if the rename was refused because of the rights it would gain.
                "mv" => grants(of, 'w') && grants(at, 'w'),
                _ => grants(of, 'r') && grants(at, 'w'),
            };
            assert_eq!(arrived, expected, "{from} {of} to {to} {at}: {line}: {number} in {}", ended.stderr);
            let gone = !source.exists();
            let may_go =
                matches!(line.split(' ').next(), Some("mv" | "rename")) && grants(of, 'w') && arrived;
            assert_eq!(gone, may_go, "{from} {of} to {to} {at}: {line}: {number} in {}", ended.stderr);
        }
    }
}

#[test]
fn links_are_judged_by_their_targets() {
    let world = world();
    for (directory, rights) in PLACES {
        let line = "T=~/documents; rm -f $T/l $T/d; ln -s $D/file $T/l; ln -s $D $T/d; cat $T/l; cat $T/d/file; cd $T/d && cat file; $T/d/script; echo new >> $T/l";
        world.write(format!("{directory}/file"), "content\n");
        let out = run(&world, directory, line).stdout;
        assert_eq!(
            out.matches("content").count(),
            if grants(rights, 'r') { 3 } else { 0 },
            "{directory}: {out}"
        );
        assert_eq!(out.contains("ran"), grants(rights, 'x'), "{directory}: {out}");
        let changed = world.read(format!("{directory}/file")).is_some_and(|text| text.contains("new"));
        assert_eq!(changed, grants(rights, 'w'), "{directory}");
    }
}
