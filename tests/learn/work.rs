//! Builds and tests as people run them.

use guard_tests::{PROJECT, World, dependencies, has, is_long_form, python_environment, sources, toolchain};

use crate::session::{Session, learned};

#[test]
fn cargo_builds_a_crate() {
    let Some(rust) = toolchain() else { return };
    let prepare = |world: &World| {
        world.write("work/Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\npart = { path = \"part\" }\n");
        world.write(
            "work/part/Cargo.toml",
            "[package]\nname = \"part\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[lib]\nproc-macro = true\n",
        );
        world.write("work/part/src/lib.rs", "#[proc_macro]\npub fn forty_two(_: proc_macro::TokenStream) -> proc_macro::TokenStream { \"42\".parse().unwrap() }\n");
        world.write("work/build.rs", "fn main() { println!(\"cargo:rustc-env=MADE=by a script\"); }\n");
        world.write(
            "work/src/main.rs",
            "fn main() { println!(\"{} {}\", part::forty_two!(), env!(\"MADE\")); }\n#[test]\nfn one() {}\n",
        );
    };
    let script = "export CARGO_NET_OFFLINE=true CARGO_TERM_QUIET=true; rm -rf target; cargo build; cargo run; cargo test | grep -c 'test result: ok. 1 passed'";
    learned(Some(&format!("{rust}/bin")), prepare, script);
}

#[test]
fn make_and_a_compiler() {
    let prepare = |world: &World| {
        world.write(
            "work/main.c",
            "#include <stdio.h>\n#include \"made.h\"\nint main(void) { puts(MADE); return 0; }\n",
        );
        world.write("work/Makefile", "CFLAGS = -O1 -Wall\nall: check\nmain: main.o\nmain.o: main.c made.h\nmade.h:\n\techo '#define MADE \"by make\"' > $@\n\
             check: main\n\t./main | grep -q 'by make'\nclean:\n\trm -f main *.o made.h\n");
    };
    learned(None, prepare, "make -s clean; make -s -j2; ./main");
}

#[test]
fn git_in_a_repository() {
    let prepare = |world: &World| {
        let made = world.native(&["git", "init", "-q", "-b", "main", "."]);
        assert_eq!(made.status, 0, "{}", made.stderr);
    };
    let script = "export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@b
        echo $RANDOM > a; git add a; git commit -qm one; git switch -qc side-$RANDOM$$; echo $RANDOM > b; git add b; git commit -qm side
        git switch -q main; git status --short; git diff --stat; git gc -q; git fsck 2>&1";
    learned(None, prepare, script);
}

#[test]
fn npm_installs_and_runs() {
    if !is_long_form() || !has(&["node", "npm"]) {
        return;
    }
    let script = r#"export npm_config_update_notifier=false npm_config_offline=true npm_config_audit=false npm_config_fund=false
        rm -rf lib app; mkdir lib app; cd lib; npm init -y > /dev/null; echo 'module.exports = () => "from lib"' > index.js
        printf '#!/usr/bin/env node\nconsole.log(require("lib")())\n' > cli.js; npm pkg set bin.lib=cli.js scripts.postinstall='echo ran > ran'; npm pack --silent
        cd ../app; npm init -y > /dev/null; npm install --silent ../lib/lib-1.0.0.tgz
        npm pkg set scripts.go='lib'; npm run -s go; npx lib"#;
    learned(None, |_| {}, script);
}

#[test]
fn python_in_an_environment() {
    if !is_long_form() {
        return;
    }
    let Some(script) = python_environment() else { return };
    let script =
        format!("{script} python -m unittest -q 2>&1 | tail -1; pip list --format=freeze | grep hello");
    learned(None, World::python_package, &script);
}

/// Installs pytest from the registry under the guard.
#[test]
fn pytest_from_the_registry() {
    if !is_long_form() {
        return;
    }
    let Some(script) = python_environment() else { return };
    learned(
        None,
        World::python_package,
        &format!("{script} pip install -q pytest; pytest -q | sed 's/ in .*//'"),
    );
}

/// This project's own policy crate.
#[test]
fn cargo_tests_this_project() {
    if !is_long_form() {
        return;
    }
    let (Some(rust), Some(vendored)) = (toolchain(), dependencies()) else { return };
    let project = sources().join("..").canonicalize().expect("the project");
    let session = Session::new(Some(&format!("{rust}/bin")));
    for part in PROJECT {
        let to = session.world.work().join(part);
        let copied =
            std::process::Command::new("cp").arg("-a").args([project.join(part), to]).status().expect("cp");
        assert!(copied.success());
    }
    let source = format!(
        "[source.crates-io]\nreplace-with = \"kept\"\n[source.kept]\ndirectory = \"{}\"\n",
        vendored.display()
    );
    session.world.write("work/.cargo/config.toml", source);
    let script = "set -e; rm -rf target; cargo test --offline --locked -p guard-policy --test document > log 2>&1 || cat log; grep 'test result' log | sed 's/finished in .*//'";
    let first = session.learn("normal", script);
    assert!(first.stdout.starts_with("test result: ok"), "{}\n{}", first.stdout, first.stderr);
    let second = session.again(script);
    assert_eq!(session.world.denied(), Vec::<String>::new(), "{}", second.stderr);
    assert_eq!((second.status, &second.stdout), (0, &first.stdout), "{}", second.stderr);
}
