//! Replays docs/tour.md: a new user's way from no policy to one that fits, on a build of this repository.

use std::fs;
use std::path::Path;
use std::process::Command;

use guard_tests::{
    PROJECT, Shell, copy_guard, dependencies, ended, is_long_form, lasting_directory, sources, steps,
    toolchain,
};

fn copy(from: &Path, to: &Path) {
    // Makes hard links if possible: the build does not write to its sources.
    for way in ["-al", "-a"] {
        if ended(Command::new("cp").arg(way).arg(from).arg(to)).status == 0 {
            return;
        }
        let _ = fs::remove_dir_all(to);
    }
    panic!("cannot copy {}", from.display());
}

/// Copies this repository into a home, to be built without a network.
fn project(home: &Path, vendored: &Path) {
    let (from, to) = (sources().join(".."), home.join("openclaw-guard"));
    fs::create_dir(&to).expect("a directory");
    for part in PROJECT {
        let from = from.join(part);
        assert_eq!(ended(Command::new("cp").arg("-r").arg(from).arg(&to)).status, 0, "{part}");
    }
    // Cargo looks upward for the repository: it must not find the one around this build.
    assert_eq!(ended(Command::new("git").args(["init", "--quiet"]).arg(&to)).status, 0);
    let registry = home.join(".cargo/registry");
    fs::create_dir_all(&registry).expect("a directory");
    copy(vendored, &registry.join("vendor"));
    let config = format!(
        "[source.crates-io]\nreplace-with = \"kept\"\n[source.kept]\ndirectory = \"{}\"\n",
        registry.join("vendor").display()
    );
    fs::write(home.join(".cargo/config.toml"), config).expect("a configuration");
}

#[test]
fn the_tour_is_as_it_says() {
    if !is_long_form() {
        return;
    }
    let Some(sysroot) = toolchain() else { return };
    let Some(vendored) = dependencies() else { return };
    let Some(directory) = lasting_directory(env!("CARGO_TARGET_TMPDIR")) else { return };
    let root = directory.path().canonicalize().expect("a real path");
    let home = root.join("home");
    for directory in ["home", "home/x", "home/other", "home/.ssh", "bin"] {
        fs::create_dir(root.join(directory)).expect("a directory");
    }
    fs::write(home.join(".ssh/id_rsa"), "a key\n").expect("a file");
    fs::write(home.join("other/README.md"), "another project\n").expect("a file");
    copy_guard(&root.join("bin/openclaw-guard"));
    project(&home, &vendored);

    let path = format!("{}/bin:{sysroot}/bin:/usr/local/bin:/usr/bin:/bin", root.display());
    let mut shell = Shell::new(&home, &[("PATH", &path), ("LANG", "C.UTF-8")]);
    let tour = fs::read_to_string(sources().join("../docs/tour.md")).expect("docs/tour.md");
    let steps = steps(&tour);
    assert!(steps.len() > 15, "{steps:#?}");
    let differences: Vec<String> = steps.iter().filter_map(|step| shell.replay(step).err()).collect();
    assert!(differences.is_empty(), "docs/tour.md:\n{}", differences.join("\n"));
    assert_eq!(fs::read_to_string(home.join("x/notes.txt")).ok().as_deref(), Some("hello\n"));
}
