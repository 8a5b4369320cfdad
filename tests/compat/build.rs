//! Compilers and build tools.

use std::fmt::Write as _;
use std::process::Command;

use guard_tests::{World, compile, ended, toolchain};

#[test]
fn gcc_in_every_stage() {
    let same = World::open().same_script(
        r#"
        printf '#include <stdio.h>\nint main(void) { puts("built"); return 3; }\n' > a.c
        gcc -E a.c -o a.i && gcc -S a.i -o a.s && gcc -c a.s -o a.o && gcc a.o -o a
        gcc -O2 -pipe -static a.c -o static && gcc -shared -fPIC a.c -o liba.so
        ar rcD liba.a a.o && ./static || echo static $?
        ./a || echo dynamic $?"#,
        &[],
    );
    assert!(same.native.stdout.contains("dynamic 3"));
    assert!(same.tree.contains_key("liba.so"));
}

#[test]
fn ldd_lists_what_is_anywhere() {
    let same = World::open().same_script(
        r#"set +e; addresses() { sed 's/0x[0-9a-f]*/0x/'; }
        printf 'int f(void) { return 1; }\n' > f.c; gcc -shared -fPIC f.c -o libf.so; printf 'int f(void); int main(void) { return f(); }\n' > m.c; gcc m.c -o m -L. -lf; chmod 644 libf.so; ln -s m l
        for what in /bin/sh ./m l ./libf.so $PWD/m /lib/x86_64-linux-gnu/libc.so.6 m.c . none /usr/bin/ldd; do ldd $what 2>&1 | addresses; done; LD_LIBRARY_PATH=. ldd -r ./m | addresses
        ldd -v -u /bin/sh | addresses; LD_LIBRARY_PATH=. ./m; echo $?; /lib64/ld-linux-x86-64.so.2 --verify ./m; echo $?"#,
        &[],
    );
    assert!(same.native.stdout.contains("libf.so => not found\n"), "{}", same.native.stdout);
}

/// Writes a project of twenty sources, a library and a program, whose build generates its dependencies.
fn small_project(world: &World) {
    let mut main = String::from("#include <stdio.h>\n");
    let mut calls = String::new();
    for i in 0..20 {
        world.write(format!("work/src/f{i}.h"), format!("int f{i}(void);\n"));
        world.write(
            format!("work/src/f{i}.c"),
            format!("#include \"f{i}.h\"\nint f{i}(void) {{ return {i}; }}\n"),
        );
        writeln!(main, "#include \"f{i}.h\"").expect("a string");
        write!(calls, " + f{i}()").expect("a string");
    }
    writeln!(main, "int main(void) {{ printf(\"%d\\n\", 0{calls}); return 0; }}").expect("a string");
    world.write("work/src/main.c", main);
    world.write(
        "work/Makefile",
        "SRC := $(wildcard src/*.c)\nOBJ := $(SRC:src/%.c=out/%.o)\n\
         all: out/sum\n\t@./out/sum\n\
         out/sum: out/main.o out/lib.a\n\t$(CC) -o $@ $^\n\
         out/lib.a: $(filter-out out/main.o,$(OBJ))\n\t@rm -f $@\n\t@ar rcD $@ $(sort $^)\n\
         out/%.o: src/%.c | out\n\t@$(CC) -MMD -O1 -c -o $@ $<\n\
         out:\n\t@mkdir -p $@\n-include $(OBJ:.o=.d)\n",
    );
}

#[test]
fn make_with_eight_jobs() {
    let same = World::open().same(small_project, &["make", "-j8", "--no-print-directory"], &[]);
    assert_eq!(same.native.status, 0, "{}", same.native.stderr);
    assert!(same.native.stdout.ends_with("190\n"), "{}", same.native.stdout);
    assert!(same.tree.contains_key("out/f19.o"));
}

#[test]
fn make_again_finds_nothing_to_do() {
    let world = World::open();
    let same = world.same(
        small_project,
        &["sh", "-c", "make -j4 >/dev/null && make -q; echo $?; touch src/f3.h && make -j4 -n | wc -l"],
        &[],
    );
    assert_eq!(same.native.status, 0, "{}", same.native.stderr);
}

#[test]
fn cargo_builds_a_crate() {
    let Some(sysroot) = toolchain() else { return };
    let prepare = |world: &World| {
        world.write(
            "work/hello/Cargo.toml",
            "[package]\nname = \"hello\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
        );
        world.write(
            "work/hello/src/lib.rs",
            "pub fn answer() -> u32 { 42 }\n#[test]\nfn it_is() { assert_eq!(answer(), 42); }\n",
        );
        world.write("work/hello/src/main.rs", "fn main() { println!(\"{}\", hello::answer()); }\n");
        world.write("work/hello/build.rs", "fn main() { println!(\"cargo:rustc-env=BUILT=yes\"); }\n");
    };
    let script = format!(
        "set -e; export PATH={sysroot}/bin:$PATH CARGO_HOME=$HOME/.cargo CARGO_INCREMENTAL=0
        unset CARGO_TARGET_DIR CARGO_BUILD_TARGET_DIR
        cd hello && cargo build -q --offline && ./target/debug/hello
        cargo test -q --offline | grep -c 'test result: ok'"
    );
    let same =
        World::open().same(prepare, &["bash", "-c", &script], &[".fingerprint", "build", ".rustc_info.json"]);
    assert_eq!(same.native.status, 0, "{}", same.native.stderr);
    assert!(same.native.stdout.starts_with("42\n"), "{}", same.native.stdout);
}

#[test]
fn a_debugger_sized_tool_reads_what_it_built() {
    let world = World::open();
    compile("int main(void) { return 0; }\n", &world.root().join("prog"), &["-g"]);
    let script = "objdump -d ../prog | tail -n +4 | cksum; nm ../prog | cksum; strip -o s ../prog && cksum s";
    let [native, guarded] = world.both(&["sh", "-c", script]);
    assert_eq!(native.status, 0, "{}", native.stderr);
    assert_eq!(guarded.stdout, native.stdout);
    // Without this the test proves nothing: the harness notices a difference.
    assert_ne!(ended(&mut Command::new("true")).stdout, native.stdout);
}
