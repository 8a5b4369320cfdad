//! The map of OpenClaw's issue #39979, tried live: every place and every right, by effect.
//!
//! `/tmp/openclaw` of the issue is a directory of the test, since one may exist already. `exec.security` is
//! full and the system may be read and run, or no program could be tried.

use std::fs;
use std::os::unix::fs::PermissionsExt;

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

/// Runs a line in which `$D` is the place.
fn run(world: &World, directory: &str, line: &str) -> guard_tests::Ended {
    let directory = world.root().join(directory);
    // Starts in a directory that may be read, so that only the place matters.
    world.guarded(&["bash", "-c", &format!("cd /usr; D={}; {line}", directory.display())])
}

#[test]
fn reading() {
    let world = world();
    for (directory, rights) in PLACES {
        for line in [
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
        ] {
            let out = run(&world, directory, line).stdout;
            assert_eq!(out == "content\n", grants(rights, 'r'), "{directory} {rights}: {line}: {out:?}");
            assert!(grants(rights, 'r') || !out.contains("content"), "{directory}: {line}");
        }
        for line in ["ls $D", "find $D -maxdepth 1", "echo $D/*", "cd $D; echo *"] {
            let out = run(&world, directory, line).stdout;
            assert_eq!(out.contains("victim"), grants(rights, 'r'), "{directory} {rights}: {line}: {out:?}");
        }
    }
}

#[test]
fn changing_what_is_there() {
    for (directory, rights) in PLACES {
        let world = world();
        let file = format!("{directory}/file");
        for line in [
            "echo new > $D/file",
            "echo new >> $D/file",
            "echo new | tee $D/file",
            "echo new | dd of=$D/file status=none",
            "truncate -s 3 $D/file",
            "sed -i s/content/new/ $D/file",
            "perl -pi -e s/content/new/ $D/file",
            "/usr/bin/python3 -c \"open('$D/file', 'r+').write('new')\"",
            "echo new > /proc/self/root$D/file",
            "cat > $D/file <<EOF\nnew\nEOF",
            "exec 3<> $D/file; echo new >&3",
            "cp /etc/hostname $D/file",
            "sort -u -o $D/file /etc/passwd",
            "cd $D && echo new > sub/../file",
            ": > $D/file",
            "chmod 600 $D/file",
            "touch -d @5 $D/file",
        ] {
            let path = world.write(&file, "content\n");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("a mode");
            let state = || {
                let metadata = fs::metadata(&path).expect("the file");
                (world.read(&file), metadata.permissions().mode(), metadata.modified().ok())
            };
            let before = state();
            let ended = run(&world, directory, line);
            assert_eq!(
                state() != before,
                grants(rights, 'w'),
                "{directory} {rights}: {line}: {}",
                ended.stderr
            );
        }
    }
}

#[test]
fn making_and_removing() {
    for (directory, rights) in PLACES {
        let world = world();
        let made = world.root().join(directory).join("made");
        for line in [
            "echo x > $D/made",
            "touch $D/made",
            "mkdir $D/made",
            "mkdir -p $D/made/deep",
            "ln -s x $D/made",
            "mkfifo $D/made",
            "cp /etc/hostname $D/made",
            "tee $D/made < /dev/null",
            "git init -q $D/made",
            "tar -C /etc -cf $D/made hostname",
            "install -d $D/made",
            "/usr/bin/python3 -c \"import os; os.mknod('$D/made')\"",
            "mktemp -d $D/made.XXX | xargs -I{} mv {} $D/made",
        ] {
            let ended = run(&world, directory, line);
            assert_eq!(
                made.symlink_metadata().is_ok(),
                grants(rights, 'w'),
                "{directory} {rights}: {line}: {}",
                ended.stderr
            );
            let _ = fs::remove_file(&made).or_else(|_| fs::remove_dir_all(&made));
        }
        let victim = world.root().join(directory).join("victim");
        for line in [
            "rm -f $D/victim",
            "unlink $D/victim",
            "find $D -name victim -delete",
            "mv $D/victim $D/gone",
            "perl -e \"unlink '$D/victim'\"",
            "/usr/bin/python3 -c \"import os; os.remove('$D/victim')\"",
            "cd $D && rm -f victim",
        ] {
            world.write(format!("{directory}/victim"), "victim\n");
            let ended = run(&world, directory, line);
            assert_eq!(
                !victim.exists(),
                grants(rights, 'w'),
                "{directory} {rights}: {line}: {}",
                ended.stderr
            );
        }
        let ended = run(&world, directory, "rm -rf $D/sub");
        assert_eq!(
            !world.root().join(directory).join("sub").exists(),
            grants(rights, 'w'),
            "{directory}: {}",
            ended.stderr
        );
    }
}

#[test]
fn running() {
    let world = world();
    for (directory, rights) in PLACES {
        for (line, out) in [
            ("$D/script", "ran\n"),
            ("$D/prog ran", "ran\n"),
            ("exec $D/script", "ran\n"),
            ("env $D/prog ran", "ran\n"),
            ("cd $D && ./script", "ran\n"),
            ("PATH=$D:$PATH script", "ran\n"),
            ("/usr/bin/python3 -c \"import os; os.execv('$D/prog', ['x', 'ran'])\"", "ran\n"),
            ("perl -e \"exec '$D/prog', 'ran'\"", "ran\n"),
            ("find $D/script -exec {} \\;", "ran\n"),
            ("(exec -a sh $D/prog ran)", "ran\n"),
        ] {
            let ended = run(&world, directory, line);
            assert_eq!(
                ended.stdout == out,
                grants(rights, 'x'),
                "{directory} {rights}: {line}: {}",
                ended.stderr
            );
        }
        // A shell that may run can interpret what may be read; the map's documentation says so too.
        assert_eq!(
            run(&world, directory, "sh $D/script").stdout == "ran\n",
            grants(rights, 'r'),
            "{directory}"
        );
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
