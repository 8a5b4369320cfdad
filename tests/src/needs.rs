//! What a test needs of the machine. What is missing is said, and the test left out: scripts/test-full counts that as
//! a failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::compare::find_program;
use crate::{ended, is_root, skip, sources};

/// Whether all these programs are there. Says which one is not.
#[must_use]
pub fn has(names: &[&str]) -> bool {
    match names.iter().find(|name| find_program(name).is_none()) {
        Some(missing) => {
            skip(&format!("{missing} is not installed"));
            false
        }
        None => true,
    }
}

/// A directory that no policy takes for one of temporary files, in the target directory of a test or the home. None, and
/// said, where there is none.
#[must_use]
pub fn lasting_directory(target: &str) -> Option<tempfile::TempDir> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let places = [Some(target.into()), home.map(|home| home.join(".cache"))];
    let is_temporary = |path: &PathBuf| ["/tmp", "/var/tmp"].iter().any(|tmp| path.starts_with(tmp));
    let found = places.into_iter().flatten().filter(|path| !is_temporary(path)).find_map(|path| {
        fs::create_dir_all(&path).ok()?;
        tempfile::Builder::new().prefix("guard-home-").tempdir_in(path).ok()
    });
    if found.is_none() {
        skip("there is no place for a home but below /tmp");
    }
    found
}

/// The Rust toolchain behind rustup's proxies: those would want the operator's home. None, and said, where this user
/// may not run it.
///
/// # Panics
/// When there is no Rust at all.
#[must_use]
pub fn toolchain() -> Option<String> {
    let Some(rustc) = find_program("rustc") else {
        assert!(!is_root(), "cargo and rustc are needed by the tests");
        skip("the Rust toolchain is where this user cannot look");
        return None;
    };
    let sysroot = ended(Command::new(rustc).args(["--print", "sysroot"]).stdin(Stdio::null()));
    let sysroot = sysroot.stdout.trim().to_owned();
    assert!(Path::new(&sysroot).join("bin/cargo").exists(), "no cargo beside rustc in {sysroot}");
    Some(sysroot)
}

/// Whether the tests run in their long form: GUARD_FOREIGN is set, as scripts/test-full does.
#[must_use]
pub fn is_foreign() -> bool {
    std::env::var_os("GUARD_FOREIGN").is_some_and(|value| !value.is_empty() && value != "0")
}

/// The same, for a test that has no short form: says that it is left out.
#[must_use]
pub fn is_long_form() -> bool {
    if !is_foreign() {
        skip("what takes minutes is left to make test-full");
    }
    is_foreign()
}

/// Where fetched sources are kept: GUARD_SOURCES, or target/sources.
fn cache() -> PathBuf {
    std::env::var_os("GUARD_SOURCES").map_or_else(|| sources().join("../target/sources"), PathBuf::from)
}

static FETCHING: Mutex<()> = Mutex::new(());

/// The unpacked sources of a crate of the registry, fetched once: some carry a whole C project. None, and said, where
/// that cannot be.
#[must_use]
pub fn fetched(name: &str, version: &str) -> Option<PathBuf> {
    let manifest = format!(
        "[package]\nname = \"fetch\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\n{name} = \"={version}\"\n[workspace]\n"
    );
    let fetch = |into: &Path| {
        fs::create_dir_all(into.join("src")).ok()?;
        fs::write(into.join("src/lib.rs"), "").ok()?;
        fs::write(into.join("Cargo.toml"), manifest).ok()?;
        vendor(&into.join("Cargo.toml"), &into.join("vendor"), &[])
    };
    kept(&format!("{name}-{version}"), fetch).map(|there| there.join("vendor").join(name))
}

/// The sources of everything that this project is built from, in one directory.
#[must_use]
pub fn dependencies() -> Option<PathBuf> {
    let project = sources().join("..");
    let lock = fs::read(project.join("Cargo.lock")).expect("Cargo.lock");
    let digest = ring::digest::digest(&ring::digest::SHA256, &lock);
    let name = format!("dependencies-{}", data_encoding::HEXLOWER.encode(&digest.as_ref()[..4]));
    kept(&name, |into| vendor(&project.join("Cargo.toml"), &into.join("vendor"), &["--locked"]))
        .map(|there| there.join("vendor"))
}

/// A directory of the cache, made by `fetch` if it is not there. It gets its name when it is whole.
fn kept(name: &str, fetch: impl FnOnce(&Path) -> Option<()>) -> Option<PathBuf> {
    let _alone = FETCHING.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let there = cache().join(name);
    if there.exists() {
        return there.canonicalize().ok();
    }
    let making = cache().join(format!("{name}.{}", std::process::id()));
    let made = fs::create_dir_all(&making)
        .ok()
        .and_then(|()| fetch(&making.canonicalize().ok()?))
        .and_then(|()| fs::rename(&making, &there).ok());
    if made.is_none() {
        let _ = fs::remove_dir_all(&making);
        skip(&format!("{name} cannot be fetched"));
        return None;
    }
    there.canonicalize().ok()
}

fn vendor(manifest: &Path, into: &Path, options: &[&str]) -> Option<()> {
    let cargo = std::env::var_os("CARGO").map(PathBuf::from).or_else(|| find_program("cargo"))?;
    let mut command = Command::new(cargo);
    command.args(["vendor", "--quiet", "--manifest-path"]).arg(manifest).args(options).arg(into);
    (ended(command.stdin(Stdio::null())).status == 0).then_some(())
}
