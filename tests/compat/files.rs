//! tar, cp, find, and sequences of rename and link.

use guard_tests::World;

/// Makes a directory with every kind of file that needs no capability.
const ZOO: &str = "
    mkdir -p zoo/deep/er 'zoo/a b' && cd zoo
    echo plain > plain && echo run > run && chmod 755 run && echo secret > secret && chmod 600 secret
    ln plain hard && ln -s plain soft && ln -s /nowhere dangling && mkfifo -m 640 pipe && : > empty
    truncate -s 1M sparse && head -c 300000 /dev/zero | tr '\\0' x > big && echo deep > deep/er/f
    chmod 1777 deep && chmod 500 'a b' && touch -d @1000000000 plain run secret deep/er/f big sparse empty deep deep/er 'a b'
    cd ..
";

#[test]
fn tar_there_and_back() {
    let script = format!(
        "{ZOO}
        tar --sort=name --owner=0 --group=0 --mtime=@0 -cf - zoo | tee z.tar | cksum
        mkdir out && tar -xpf z.tar -C out && find out -printf '%P %y %m %s %n %l\\n' | sort
        tar -czf z.tgz zoo && tar -tzvf z.tgz | wc -l && rm z.tgz && tar -df z.tar 2>&1 | grep -v -e Mod -e 'id differs' || true"
    );
    let same = World::open().same_script(&script, &[]);
    assert!(same.tree.contains_key("out/zoo/deep/er/f"));
    assert!(same.tree["out/zoo/pipe"].contains("fifo"));
}

#[test]
fn cp_a_keeps_everything() {
    let script = format!(
        "{ZOO}
        cp -a zoo copy && find copy -printf '%P %y %m %s %n %l %Ts\\n' | grep -v -e ' l ' -e '^ ' | sort | sed '/^a b\\|pipe/d'
        cp --reflink=auto --sparse=always zoo/sparse s && stat -c '%s' s
        cp -al zoo links && stat -c '%h' links/plain && diff -r --exclude=pipe --exclude=dangling zoo copy"
    );
    let same = World::open().same_script(&script, &[]);
    assert!(same.native.stdout.contains("plain f 644 6 2  1000000000"), "{}", same.native.stdout);
}

#[test]
fn find_searches_and_deletes() {
    let script = format!(
        "{ZOO}
        find zoo -name '*e*' | sort; find zoo -type f -newermt @999999999 | sort; find zoo -perm /111 -type f
        find zoo -type f -exec cksum {{}} + | sort; find zoo -name big -execdir pwd \\; ; find zoo -empty | sort
        find zoo -type f -print0 | sort -z | xargs -0 -n1 basename
        chmod 700 'zoo/a b'; find zoo -depth -delete; test ! -e zoo"
    );
    World::open().same_script(&script, &[]);
}

#[test]
fn renames_links_and_symbolic_links() {
    let same = World::open().same_script(
        "
        echo 1 > a; echo 2 > b; mkdir d e; echo 3 > d/f
        mv a c; mv b c; cat c; mv c d/; mv d/f d/c; cat d/c
        ln d/c h1; ln h1 h2; ln -s h1 s; ln -P s sp; ln -L s sl; stat -c '%n %h %F' h1 h2 s sp sl
        mv s h1 2>&1 || true; cat h1 2>&1 || true
        mv d e/; mv e/d .; rmdir e; mv -T d e; ls e
        ln -sfn e cur; mkdir n; ln -sfn n cur; readlink cur; mv -T cur cur2; readlink cur2
        mv -n h2 e/c && ls h2; mv --backup=numbered h2 e/c; ls e
        mkdir -p x/y; mv x x/y 2>&1 || echo refused; mv x/y x 2>&1 || true; ls x
        rm -r x e n; unlink cur2; ls -l | wc -l",
        &[],
    );
    assert!(same.native.stdout.contains("refused"));
}

#[test]
fn exclusive_unnamed_and_exchanged() {
    let same = World::open().same_script(
        r#"
        python3=$(test -x /usr/bin/python3 && echo /usr/bin/python3 || echo python3)
        $python3 - <<'EOF'
import os, ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("excl", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640); os.write(fd, b"x"); os.close(fd)
for name, flags in ("excl", os.O_CREAT | os.O_EXCL), ("excl", os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW):
    try: os.open(name, flags)
    except OSError as e: print(name, errno.errorcode[e.errno])
os.symlink("target", "sym")
try: os.open("sym", os.O_CREAT | os.O_EXCL | os.O_WRONLY)
except OSError as e: print("sym", errno.errorcode[e.errno])
os.close(os.open("sym", os.O_CREAT | os.O_WRONLY)); print(os.listdir(".").count("target"))
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o644); os.write(fd, b"unnamed")
def name(fd, new): return libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, new, 0x400), errno.errorcode.get(ctypes.get_errno())
print(name(fd, b"named")); print(open("named").read(), os.fstat(fd).st_nlink)
fd2 = os.open(".", os.O_TMPFILE | os.O_RDWR | os.O_EXCL, 0o644)
print("excl tmpfile", name(fd2, b"never"))
open("p", "w").write("p"); open("q", "w").write("q")
AT = -100
print(libc.renameat2(AT, b"p", AT, b"q", 2), open("p").read(), open("q").read())
print(libc.renameat2(AT, b"p", AT, b"q", 1), ctypes.get_errno() == errno.EEXIST)
print(libc.renameat2(AT, b"p", AT, b"r", 1), open("r").read())
EOF"#,
        &[],
    );
    assert!(same.native.stdout.contains("unnamed 1"), "{}", same.native.stdout);
}

#[test]
fn editing_in_place() {
    let same = World::open().same_script(
        r#"
        seq 100 > f; sed -i.bak '50,$d' f; wc -l f f.bak; perl -pi -e 's/^4/four/' f; grep -c four f
        dd if=/dev/zero of=z bs=1k count=64 conv=fsync status=none; dd if=f of=z bs=1 seek=100 conv=notrunc status=none; cksum z
        tee t1 t2 < f | cksum; tee -a t1 < f >/dev/null; cksum t1 t2; sort -o f f; shuf -n1 f | wc -l
        cat <<EOF > here
$(head -2 f)
EOF
        cat here; exec 5<>rw; echo both >&5; cat rw; exec 5>&-; set -C; echo x > here 2>/dev/null || echo noclobber
        split -n 3 f part.; cat part.* | cmp - f; install -m 640 f installed; stat -c %a installed; patch --version >/dev/null 2>&1; truncate -s 10 f; wc -c f"#,
        &[],
    );
    assert!(same.native.stdout.contains("noclobber"));
}

#[test]
fn locks_wait_and_exclude() {
    let same = World::open().same_script(
        r#"
        : > log
        for i in 1 2 3 4 5 6; do ( flock 9; n=$(wc -l < log); sleep 0.02; echo $n >> log ) 9>lock & done; wait
        sort -n log; exec 8>lock; flock -n 8 && echo mine; ( exec 7>lock; flock -n 7 || echo taken )"#,
        &[],
    );
    assert!(same.native.stdout.ends_with("taken\n"));
}
