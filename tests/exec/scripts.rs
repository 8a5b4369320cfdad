//! Scripts: the interpreter line in all its forms.

use guard_tests::World;

/// Shell functions: `s` writes a script, `try` runs one and prints its status.
const RUN: &str = r##"
set +e
s() { printf "$2" > "$1"; chmod 755 "$1"; }
try() { echo "== $1"; "./$@" 2>&1 | sed 's/^bash: line [0-9]*: //'; echo "${PIPESTATUS[0]}"; }
"##;

fn same(script: &str) -> String {
    World::open().same_script(&format!("{RUN}{script}\ntrue"), &[]).native.stdout
}

#[test]
fn interpreter_lines() {
    let out = same(
        r##"
        s plain '#!/bin/sh\necho "$0" "$@"\n'; try plain a 'b c'
        s argument '#!/bin/sh -e\nfalse\necho not reached\n'; try argument
        s spaces '#! \t /bin/echo   one two  \t\nx\n'; try spaces three
        s env '#!/usr/bin/env sh\necho env\n'; try env
        s envs '#!/usr/bin/env -S sh -c "echo $0 $1" x\n'; try envs y
        s crlf '#!/bin/sh\r\necho no\r\n'; try crlf
        s missing '#!/no/such/interpreter\n'; try missing
        s relative '#!sh\necho no\n'; try relative
        s directory '#!/bin\n'; try directory
        s text '#!/etc/passwd\n'; try text
        s nonewline '#!/bin/echo last'; try nonewline
        s blank '#!\n'; try blank; s blanks '#!   \n'; try blanks; s nothing ''; try nothing
        s only '#!'; try only; s magic '\177ELF'; try magic; s short '\177ELF\002\001\001'; try short
        python3 -c 'import os
for name in "only", "magic", "short", "blank":
    try: os.execv(name, [name])
    except OSError as e: print(name, e.errno)'
        s binary '\001\002\003\004'; try binary; s nul '#!/bin/echo\000-n x\n'; try nul
        s awk '#!/usr/bin/awk -f\nBEGIN { print "awk" }\n'; try awk; s perl '#!/usr/bin/perl -w\nprint "perl @ARGV\\n";\n'; try perl z
        chmod 644 plain; try plain; ln -s env link; try link; (PATH=$PWD:$PATH; env sh -c 'echo $0')"##,
    );
    assert!(out.contains("./plain a b c\n"), "{out}");
    assert!(out.contains("./envs y\n") || out.contains("x"), "{out}");
}

#[test]
fn scripts_of_scripts() {
    let out = same(
        r##"
        s i1 '#!/bin/echo i1\n'; for i in 2 3 4 5 6 7; do s i$i "#!$PWD/i$((i-1)) arg$i\n"; done
        for i in 1 2 3 4 5 6 7; do try i$i end; done
        s loop "#!$PWD/loop\n"; try loop; s a "#!$PWD/b\n"; s b "#!$PWD/a\n"; try a
        s sh '#!/bin/sh\necho via "$0" "$@"\n'; s on "#!$PWD/sh -x y\n"; try on z"##,
    );
    assert!(out.contains("arg2"), "{out}");
    assert!(out.contains("Too many levels"), "{out}");
}

#[test]
fn long_interpreter_lines() {
    same(
        r##"
        d=$(printf 'd%.0s' $(seq 100)); mkdir -p $d/$d; cp /bin/echo $d/$d/e; ln -s $PWD/$d/$d/e short
        s long "#!$PWD/$d/$d/e argument\n"; try long; for n in 50 243 244 245 246 247 250 400; do s l$n "#!/bin/echo $(printf 'a%.0s' $(seq $n))\n"; try l$n; done
        for n in 240 250 255 300; do s p$n "#!/$(printf '/%.0s' $(seq $n))bin/echo x\n"; try p$n; done"##,
    );
}

#[test]
fn a_file_that_is_no_program_is_run_by_the_shell() {
    let out = same(
        r##"
        s bare 'echo bare "$0" "$1"\n'; try bare one; sh -c './bare two'; dash -c './bare three'; env ./bare four; find . -name bare -exec {} five \;
        /usr/bin/python3 -c 'import os; os.execvp("./bare", ["bare"])' 2>&1 | tail -1; perl -e 'exec "./bare" or print "$!\n"'; xargs ./bare < /dev/null"##,
    );
    assert!(out.contains("bare ./bare one"), "{out}");
}

#[test]
fn a_script_sees_what_it_would_natively() {
    same(
        r##"
        s who '#!/bin/sh\nreadlink /proc/$$/exe; tr "\\0" " " < /proc/$$/cmdline; cat /proc/$$/comm; echo; cat "$0" | cksum; test -r "$0" && echo readable\n'
        try who; mkdir d; mv who d/; (cd d; ./who; sh who; sh < who); d/who; PATH=$PWD/d:$PATH who; exec 5< d/who; sh /dev/fd/5; cat d/who | sh -s x
        s edit '#!/bin/sh\necho "echo grown" >> "$0"\n'; try edit; try edit; s rm '#!/bin/sh\nrm "$0"; echo removed\n'; try rm; ls"##,
    );
}
