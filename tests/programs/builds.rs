//! Published projects, built as their authors document.

use std::fs;
use std::path::Path;
use std::process::Command;

use guard_tests::{World, dependencies, fetched, is_long_form, sources, toolchain};

/// Puts a copy of `from` into the workspace.
fn copy(world: &World, from: &Path, to: &str) {
    let to = world.work().join(to);
    fs::create_dir_all(to.parent().expect("a parent")).expect("directories");
    // Both copies have the same times, or make would behave differently.
    let copied = Command::new("cp").arg("-a").args([from, &to]).status().expect("cp");
    assert!(copied.success(), "cp -a {}", from.display());
    let _ = Command::new("chmod").args(["-R", "u+w"]).arg(&to).status();
}

/// libffi: a configure script of autoconf, libtool, and a make with eight jobs.
#[test]
fn configure_and_make() {
    if !is_long_form() {
        return;
    }
    let Some(source) = fetched("libffi-sys", "4.2.2") else { return };
    let script = "set -e; cd libffi; ./configure --quiet --prefix=$PWD/../out --disable-docs > ../configured
        make -s -j8 2>&1 | sort > ../made; make -s install > ../installed; cd ..; find out -type f -o -type l | sort
        printf '#include <ffi.h>\\n#include <stdio.h>\\nint main(void) { ffi_cif cif; printf(\"%%d\\\\n\", ffi_prep_cif(&cif, FFI_DEFAULT_ABI, 0, &ffi_type_void, 0)); return 0; }\\n' > t.c
        gcc t.c -o t -Iout/include -Lout/lib -Wl,-rpath,$PWD/out/lib -lffi && ./t && readelf -d t | grep -c out/lib";
    let same = World::open().same(
        |world| copy(world, &source.join("libffi"), "libffi"),
        &["bash", "-c", script],
        // It contains the time of the run.
        &["config.log"],
    );
    assert_eq!(same.native.status, 0, "{}", same.native.stderr);
    assert!(same.native.stdout.ends_with("0\n1\n"), "{}", same.native.stdout);
}

/// LuaJIT: its build makes the programs that generate its sources.
#[test]
fn make_that_builds_its_own_tools() {
    if !is_long_form() {
        return;
    }
    let Some(source) = fetched("luajit-src", "210.7.4+c6ffc14") else { return };
    let script = "set -e; mkdir -p luajit2/etc; cd luajit2; make -j8 > ../made 2>&1; sort -o ../made ../made
        ./src/luajit -e 'local s = 0; for i = 1, 1e6 do s = s + i end; print(s)'; make clean > /dev/null; make -j3 -s amalg 2>/dev/null | tail -1";
    let same = World::open().same(
        |world| copy(world, &source.join("luajit2"), "luajit2"),
        &["bash", "-c", script],
        &[],
    );
    assert_eq!(same.native.status, 0, "{}", same.native.stderr);
    assert!(same.native.stdout.starts_with("500000500000\n"), "{}", same.native.stdout);
}

/// This project's own policy crate: build scripts, procedural macros, a multi-threaded test harness.
#[test]
fn cargo_tests_this_project() {
    if !is_long_form() {
        return;
    }
    let Some(sysroot) = toolchain() else { return };
    let Some(vendored) = dependencies() else { return };
    let project = sources().join("..").canonicalize().expect("the project");
    let world = World::open();
    let prepare = |world: &World| {
        for part in ["Cargo.toml", "Cargo.lock", "bench", "policy", "shim", "supervisor", "tests"] {
            copy(world, &project.join(part), &format!("project/{part}"));
        }
        let vendored = vendored.display();
        world.write(
            "work/project/.cargo/config.toml",
            format!(
                "[source.crates-io]\nreplace-with = \"kept\"\n[source.kept]\ndirectory = \"{vendored}\"\n"
            ),
        );
    };
    let script = format!("set -e; export PATH={sysroot}/bin:$PATH CARGO_HOME=$HOME/.cargo CARGO_TARGET_DIR=$PWD/target CARGO_INCREMENTAL=0; cd project
        cargo test --offline --locked -p guard-policy 2>&1 | grep -E '^test |test result|error|panicked' | sed 's/finished in .*//' | sort");
    let same = world.same(prepare, &["bash", "-c", &script], &["target"]);
    assert_eq!(same.native.status, 0, "{}", same.native.stderr);
    assert!(same.native.stdout.contains("test result: ok"), "{}", same.native.stdout);
    assert!(!same.native.stdout.contains("FAILED"), "{}", same.native.stdout);
}
