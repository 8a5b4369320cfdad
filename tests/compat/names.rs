//! Unusual names: not text, too long, removed, looping, with trailing slashes.

use guard_tests::World;

#[test]
fn names_that_are_no_text() {
    let same = World::open().same_script(
        r#"
        f=$(printf 'bad\377\376name'); echo a > "$f"; mv "$f" "$f"2; mkdir "$(printf '\200')"; echo b > "$(printf '\200')/$f"
        ln -s "$f"2 "$(printf 'l\001\033[31m')"; cat "$(printf 'l\001\033[31m')"; : > "$(printf 'new\nline')"; : > ' '; : > -- -dash; : > '*'
        for f in *; do printf '%s' "$f" | od -An -tx1; done; rm -- "$(printf 'new\nline')" ' ' '*'; ls -1q | sort"#,
        &[],
    );
    assert!(same.tree.contains_key("bad\\xff\\xfename2"), "{:?}", same.tree.keys());
}

#[test]
fn files_called_deleted() {
    World::open().same_script(
        r#"
        echo 1 > 'x (deleted)'; cat 'x (deleted)'; echo 2 > x; cat 'x (deleted)' x; mkdir 'd (deleted)'; echo 3 > 'd (deleted)/f'
        cd 'd (deleted)'; cat f; echo 4 > g; cat ../'d (deleted)'/g; cd ..; mv 'x (deleted)' 'y (deleted)'; ls
        exec 3< 'y (deleted)'; rm 'y (deleted)'; cat /proc/self/fd/3 <&3; cat <&3; ls"#,
        &[],
    );
}

#[test]
fn a_removed_directory() {
    let same = World::open().same_script(
        r#"
        mkdir -p gone/in; echo f > gone/f; cd gone; exec 4< f; rm -r ../gone; set +e
        pwd -P 2>&1 | sed 's/.*: //'; ls; cat f; echo x > new; mkdir d; cat ../x; ls .. ; cat <&4; cat /proc/self/fd/4; cd ..; mkdir gone; echo other > gone/f; cd gone; cat f
        mkdir ../in; cd ../in; rmdir ../in; mkdir ../in; : > ../in/f; cat f; cat ../in/f; cat ./f; ls ..; cd .; touch t"#,
        &[],
    );
    assert!(same.native.stderr.contains("No such file"), "{}", same.native.stderr);
}

#[test]
fn loops_and_chains_of_links() {
    let same = World::open().same_script(
        r#"
        set +e
        ln -s b a; ln -s a b; ln -s self self; ln -s self/x in; cat a; echo > a; cat self/x; ls -d in/; touch a; mkdir a/x; chmod 1 a
        echo end > l0; for i in $(seq 1 45); do ln -s l$((i-1)) l$i; done
        for i in 1 39 40 41 42 45; do echo $i; cat l$i; done
        mkdir d0; echo in > d0/f; for i in $(seq 1 45); do ln -s d$((i-1)) d$i; done; for i in 39 40 41; do cat d$i/f; ls d$i/; done
        ln -s "$PWD" here; cat here/here/here/here/l0; ln -s /proc/self/cwd/l0 p; cat p; ln -s . dot; cat dot/dot/./dot//l0
        ln -s '' empty; rm -f a; ln -s nowhere dang; echo made > dang; cat nowhere; mkdir dang/ ; ln -s nodir/x dang2; echo > dang2; rm -r d0"#,
        &[],
    );
    assert!(same.native.stderr.contains("Too many levels"), "{}", same.native.stderr);
}

#[test]
fn slashes_and_dots_behind_names() {
    World::open().same_script(
        r#"
        set +e
        echo f > f; mkdir d e; ln -s d ld; ln -s f lf; ln -s none ln
        for n in f/ f/. f/.. d/ d/. d/.. d/../f ld/ ld/. lf/ ln/ ln/. none/ none/. none/.. ./f .//f ../work/f; do
            echo "== $n"; cat "$n" 2>&1; ls -d "$n" 2>&1; ( : > "$n" ) 2>&1 | sed 's/.*: //'; mkdir "$n" 2>&1; rmdir "$n" 2>&1
            touch "$n" 2>&1; unlink "$n" 2>&1; perl -e 'rename $ARGV[0], "moved" or print "$!\n"' "$n"; perl -e 'rename "f", $ARGV[0] or print "$!\n"' "$n"; mv moved f 2>/dev/null; ln "$n" hard 2>&1; ln -s x "$n" 2>&1
            ls -1F; rm -rf f d e ld lf ln moved hard none; echo f > f; mkdir d e; ln -s d ld; ln -s f lf; ln -s none ln
        done
        for n in / /. // /./ /.. /../ /usr/ /usr/. /usr/../usr; do ls -d $n; cat $n; rmdir $n; mkdir $n; ( : > $n ) 2>&1 | sed 's/.*: //'; done"#,
        &[],
    );
}

#[test]
fn long_names_and_deep_paths() {
    let same = World::open().same_script(
        r#"
        set +e
        n255=$(printf 'n%.0s' $(seq 255)); : > $n255; ls $n255 | wc -c; : > ${n255}n; mkdir ${n255}n; mkdir -p d; mv $n255 d/; ls d | wc -c
        python3=$(test -x /usr/bin/python3 && echo /usr/bin/python3 || echo python3)
        $python3 - <<'EOF'
import os, errno
top = os.getcwd()
for length in 4000, 4094, 4095, 4096, 5000, 20000:
    for tail in "d", "missing", "missing/x":
        path = "./" * ((length - len(tail)) // 2); path += tail.rjust(length - len(path), "/") if (length - len(tail)) % 2 else tail
        for what in (lambda: os.open(path, os.O_RDONLY), lambda: os.open(path, os.O_CREAT | os.O_WRONLY), lambda: os.mkdir(path), lambda: os.rename(path, "q"),
                     lambda: os.symlink(path, "s%d" % length), lambda: os.execv(path, ["x"])):
            try: r = what(); r is not None and os.close(r); print(length, tail, "ok")
            except OSError as e: print(length, tail, errno.errorcode[e.errno])
        os.path.isdir("q") and os.rename("q", "d")
        for made in "missing", "s%d" % length:
            if os.path.lexists(made): os.unlink(made) if os.path.islink(made) or not os.path.isdir(made) else os.rmdir(made)
name = "x" * 200
for i in range(18):
    os.mkdir(name); os.chdir(name)
open("deep", "w").write("deep"); print(open("deep").read(), len(os.listdir(".")))
try: print(len(os.getcwd()) > 3600)
except OSError as e: print(errno.errorcode[e.errno])
os.rename("deep", "deeper"); os.unlink("deeper"); print(os.listdir("."))
for i in range(18):
    os.chdir(".."); os.rmdir(name)
print(os.getcwd() == top)
EOF"#,
        &[],
    );
    assert!(same.native.stdout.contains("ENAMETOOLONG"), "{}", same.native.stdout);
}

/// Descends beyond PATH_MAX in small steps. There the kernel reports no paths.
const DEEP: &str =
    "d=$(printf 'x%.0s' $(seq 200)); for i in $(seq 45); do mkdir $d && cd -P $d || break; done; echo $i";

#[test]
fn beyond_path_max_by_steps() {
    let script = format!(
        r#"set +e; top=$PWD; {DEEP}
        : > f; echo data > g; cat g; mv g h; ln h i; ln -s h s; chmod 600 h; mkfifo p; stat -c '%n %a %h' h; cp h c; rm s; mkdir e; rmdir e; cat ../$d/h
        mv h ../h2; ls ..; mkdir -p a/b; echo n > a/b/f; mv a z; ls -R; cd z/b; rm -r ../../z; cat f; : > new; cd $top; rm -r $d; ls"#
    );
    let same = World::open().same_script(&script, &[]);
    assert!(same.native.stdout.starts_with("45\ndata\n"), "{}", same.native.stdout);
}

#[test]
fn making_what_is_there() {
    World::open().same_script(
        r#"
        set +e
        mkdir -p /usr/bin /tmp/. /proc/self / "$PWD" "$HOME"; mkdir /usr /proc/self/fd / . ..; mkdir -p /etc/passwd; mkdir -p /etc/passwd/x
        mkdir -p a/b/c/d; mkdir -p a/b/c; mkdir -pm 700 a/b/x; rmdir -p a/b/c/d; ls -R; touch /proc/self
        mknod a p; mkfifo a/b; mv a a/b; true"#,
        &[],
    );
}

/// The kernel checks a socket's mode before its type.
#[test]
fn a_socket_is_not_opened_by_its_descriptor() {
    let same = World::open().same_python(
        r#"
import os, socket
one = socket.socket(socket.AF_UNIX)
for mode in (0o600, 0o400, 0o200, 0):
    os.fchmod(one.fileno(), mode)
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        try: os.open("/dev/fd/%d" % one.fileno(), flags)
        except OSError as error: print(oct(mode), flags, error.errno)
"#,
    );
    assert_eq!(same.native.stdout.lines().count(), 16, "{}", same.native.stderr);
}
