//! Go: its runtime preempts its threads with SIGURG, and restarts the calls that this interrupts.

use guard_tests::{World, has, is_long_form};

const PROGRAM: &str = r#"package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
)

func main() {
	var all sync.WaitGroup
	var made, there, other, ran int64
	stop := make(chan bool)
	for i := 0; i < 4; i++ { // What never calls anything is what needs preempting.
		go func() { for n := 0; ; n++ { if n%1000000 == 0 { select { case <-stop: return; default: } } } }()
	}
	for i := 0; i < 32; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			for n := 0; n < 200; n++ { // Each name by four of them: one makes it.
				f, err := os.OpenFile(fmt.Sprintf("f%d-%d", i/4, n), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
				switch {
				case err == nil: atomic.AddInt64(&made, 1); fmt.Fprint(f, n); f.Close()
				case errors.Is(err, fs.ErrExist): atomic.AddInt64(&there, 1)
				default: atomic.AddInt64(&other, 1); fmt.Println(err)
				}
			}
			for n := 0; n < 20; n++ {
				d := fmt.Sprintf("d%d-%d", i, n)
				for _, err := range []error{os.Mkdir(d, 0o755), os.Symlink("f", d+"/l"), os.Rename(d, d+"r"), os.Remove(d + "r/l"), os.Remove(d + "r")} { if err != nil { fmt.Println(err) } }
			}
			for n := 0; n < 5; n++ { out, err := exec.Command("echo", "ran").Output(); if err == nil && string(out) == "ran\n" { atomic.AddInt64(&ran, 1) } else { fmt.Println(err) } }
			l, err := net.Listen("unix", fmt.Sprintf("s%d", i)); if err != nil { fmt.Println(err); return }
			go func() { c, _ := l.Accept(); c.Write([]byte("hi")); c.Close() }()
			c, err := net.Dial("unix", l.Addr().String()); b := make([]byte, 2); if err != nil { fmt.Println(err); return }; c.Read(b); c.Close(); l.Close()
		}(i)
	}
	all.Wait()
	close(stop)
	fmt.Println(made, there, other, ran)
}
"#;

#[test]
fn go_builds_and_many_goroutines_create() {
    if !is_long_form() || !has(&["go"]) {
        return;
    }
    let script = "set -e; export GOCACHE=$HOME/cache GOPATH=$HOME/go GOFLAGS=-mod=mod GOPROXY=off; go mod init t 2>/dev/null; go vet . ; go build -trimpath -o t .
        ./t; rm -f t; GODEBUG=asyncpreemptoff=1 go run . | sed s/.*exists//; ls | wc -l";
    let same =
        World::open().same(|world| drop(world.write("work/t.go", PROGRAM)), &["bash", "-c", script], &[]);
    assert!(
        same.native.stdout.starts_with("1600 4800 0 160\n"),
        "{} {}",
        same.native.stdout,
        same.native.stderr
    );
}
