//! Modes and owners of new files: umask, attributes, special bits. `different` has the bits that the guard takes off.

use guard_tests::World;

#[test]
fn umask_holds_for_everything_that_is_made() {
    let same = World::open().same_script(
        r#"
        for mask in 000 022 077 027 777; do
            umask $mask; mkdir m$mask; ( cd m$mask 2>/dev/null || { chmod 700 m$mask; cd m$mask; }
            : > f; mkdir d; mkfifo p; ln -s f s; cp /bin/true c 2>/dev/null || true; ln f h
            python3=$(test -x /usr/bin/python3 && echo /usr/bin/python3 || echo python3)
            $python3 -c '
import ctypes, os, socket
for mode in 0o777, 0o7777, 0o666, 0o4755, 0o2755, 0o1777, 0, 0o111:
    os.close(os.open("o%o" % mode, os.O_CREAT | os.O_WRONLY, mode & 0o1777)); os.mkdir("d%o" % mode, mode)
    os.mknod("n%o" % mode, mode & 0o1777 | 0o100000); os.mkfifo("q%o" % mode, mode)
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o666); print(ctypes.CDLL(None).linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"tmp", 0x400))
socket.socket(socket.AF_UNIX).bind("sock")
print(oct(os.umask(0)))'
            stat -c '%a %F %n' * )
        done"#,
        &[],
    );
    assert!(same.native.stdout.contains("0o77\n"), "{}", same.native.stdout);
}

#[test]
fn threads_share_a_umask_and_children_have_their_own() {
    World::open().same_script(
        r#"
        python3=$(test -x /usr/bin/python3 && echo /usr/bin/python3 || echo python3)
        $python3 - <<'EOF'
import os, threading
def make(i): os.close(os.open(f"t{i}", os.O_CREAT | os.O_WRONLY, 0o666))
for i, mask in enumerate([0, 0o77, 0o22, 0o133]):
    os.umask(mask)
    t = threading.Thread(target=make, args=(i,)); t.start(); t.join()
    if os.fork() == 0:
        os.umask(0o111); make(f"c{i}"); os._exit(0)
    os.wait(); make(f"p{i}")
for name in sorted(os.listdir(".")): print(name, oct(os.stat(name).st_mode))
EOF"#,
        &[],
    );
}

#[test]
fn attributes_are_set_as_asked() {
    let same = World::open().same_script(
        r#"
        : > f; mkdir d; ln -s f l; ln -s none n
        for m in 0 600 755 1755; do chmod $m f; stat -c %a f; done
        for m in 0 4755 2755 1755 7777; do chmod $m d; stat -c %a d; done; chmod 755 d f
        chmod g-w f; chmod -R go= d; chmod 700 l; stat -c '%a %n' f d l; chmod 1 n 2>&1 || true
        chown $(id -u):$(id -g) f d; chown -h $(id -u) l n; chown : n 2>&1 || true; stat -c %a f
        touch -d @123456789.5 f; touch -h -d @99 l; touch -d @6 d; touch -a -d @5 d; stat -c '%n %X %Y' f d; stat -c '%Y' l
        touch -r f g; stat -c %Y g; touch -c none; ls none 2>&1 || true; touch n; ls none
        python3=$(test -x /usr/bin/python3 && echo /usr/bin/python3 || echo python3)
        $python3 - <<'EOF'
import os, errno
def attempt(what, *args, **kw):
    try: print(what.__name__, args[1:], what(*args, **kw))
    except OSError as e: print(what.__name__, args[1:], errno.errorcode[e.errno])
for path in "f", "d", "l", "none2":
    for follow in True, False:
        attempt(os.setxattr, path, "user.x", b"1", follow_symlinks=follow)
        attempt(os.setxattr, path, "user.x", b"22", os.XATTR_CREATE, follow_symlinks=follow)
        attempt(os.setxattr, path, "user.y", b"22", os.XATTR_REPLACE, follow_symlinks=follow)
        attempt(os.getxattr, path, "user.x", follow_symlinks=follow)
        attempt(os.removexattr, path, "user.x", follow_symlinks=follow)
        attempt(os.setxattr, path, "trusted.x", b"1", follow_symlinks=follow)
        attempt(os.setxattr, path, "nonsense", b"1", follow_symlinks=follow)
fd = os.open("f", os.O_RDWR)
attempt(os.setxattr, fd, "user.f", b"f"); attempt(os.removexattr, fd, "user.f"); attempt(os.fchmod, fd, 0o640)
attempt(os.fchown, fd, -1, -1); attempt(os.utime, fd, (3, 4)); print(os.stat(fd).st_mtime)
attempt(os.chown, "f", 12345, -1); attempt(os.lchown, "l", 0 if os.getuid() else 12345, -1)
EOF"#,
        &[],
    );
    assert!(same.native.stdout.contains("f 123456789 123456789"), "{}", same.native.stdout);
}

#[test]
fn permission_bits_hold_without_capabilities() {
    let same = World::open().same_script(
        r#"
        echo x > none; chmod 000 none; mkdir closed; echo y > closed/in; chmod 000 closed; mkdir fixed; echo z > fixed/z; chmod 555 fixed
        echo r > ro; chmod 444 ro
        for c in 'cat none' 'echo > none' 'cat closed/in' 'ls closed' 'touch fixed/new' 'rm -f fixed/z' 'echo > ro' 'mv fixed/z .' \
            'ln fixed/z l' 'rmdir closed' 'chmod 700 none' 'cat none' ; do echo "$c"; sh -c "$c" 2>&1 || echo failed; done"#,
        &[],
    );
    assert!(same.native.stdout.contains("Permission denied"), "{}", same.native.stdout);
}
