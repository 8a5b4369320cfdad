//! What a test needs of the machine. If something is missing, the test is skipped with a message, which
//! scripts/test-full counts as a failure.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::compare::find_program;
use crate::{ended, guard, is_root, skip, sources};

/// Returns whether all these programs are there. Prints the name of the first missing one.
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

/// Returns a directory that no policy counts as one of temporary files, in a test's target directory or in
/// the home. Returns None, with a message, if there is none.
#[must_use]
pub fn lasting_directory(target: &str) -> Option<tempfile::TempDir> {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let parents = [Some(target.into()), home.map(|home| home.join(".cache"))];
    let is_temporary = |path: &PathBuf| ["/tmp", "/var/tmp"].iter().any(|tmp| path.starts_with(tmp));
    let found = parents.into_iter().flatten().filter(|path| !is_temporary(path)).find_map(|path| {
        fs::create_dir_all(&path).ok()?;
        tempfile::Builder::new().prefix("guard-home-").tempdir_in(path).ok()
    });
    if found.is_none() {
        skip("there is no place for a home but below /tmp");
    }
    found
}

/// Returns the Rust toolchain that rustup's proxies start: the proxies would need the operator's home.
/// Returns None, with a message, if this user may not run it.
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

/// Returns whether calls may be left to this kernel: its Landlock restricts truncation (ABI 3). Otherwise the broker decides every
/// call, whatever the tiers are.
///
/// # Panics
/// When doctor does not say.
#[must_use]
pub fn has_floor() -> bool {
    let text = floor();
    !text.starts_with("none") && !text.contains("truncation")
}

/// Returns whether this kernel refuses the tree abstract sockets that were not made in it (Landlock's ABI 6).
///
/// # Panics
/// When doctor does not say.
#[must_use]
pub fn has_socket_scope() -> bool {
    let text = floor();
    !text.starts_with("none") && !text.contains("abstract sockets")
}

/// Returns what doctor says of the floor.
fn floor() -> String {
    let said = ended(Command::new(guard()).args(["doctor", "--json"]).stdin(Stdio::null()));
    let findings: serde_json::Value =
        serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let floor = findings.as_array().and_then(|all| all.iter().find(|finding| finding["name"] == "floor"));
    floor.and_then(|floor| floor["text"].as_str()).expect("a finding about the floor").to_owned()
}

/// Like [`has_floor`], for a test of the floor: reports that it is skipped where there is none.
#[must_use]
pub fn lacks_floor() -> bool {
    let lacks = !has_floor();
    if lacks {
        skip("where Landlock has no ABI 3 there is no floor");
    }
    lacks
}

/// Returns whether the tests run in their long form: GUARD_FOREIGN is set, as scripts/test-full does.
#[must_use]
pub fn is_foreign() -> bool {
    std::env::var_os("GUARD_FOREIGN").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Like [`is_foreign`], for a test without a short form: reports that it is skipped.
#[must_use]
pub fn is_long_form() -> bool {
    if !is_foreign() {
        skip("what takes minutes is left to make test-full");
    }
    is_foreign()
}

/// Returns the directory of fetched sources: GUARD_SOURCES, or target/sources.
fn cache() -> PathBuf {
    std::env::var_os("GUARD_SOURCES").map_or_else(|| sources().join("../target/sources"), PathBuf::from)
}

static FETCHING: Mutex<()> = Mutex::new(());

/// Returns the unpacked sources of a crate of the registry, fetched once: some contain a whole C project.
/// Returns None, with a message, if they cannot be fetched.
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
    cached(&format!("{name}-{version}"), fetch).map(|there| there.join("vendor").join(name))
}

/// Returns a directory with the sources of all dependencies of this project.
#[must_use]
pub fn dependencies() -> Option<PathBuf> {
    let project = sources().join("..");
    let lock = fs::read(project.join("Cargo.lock")).expect("Cargo.lock");
    let digest = ring::digest::digest(&ring::digest::SHA256, &lock);
    let name = format!("dependencies-{}", data_encoding::HEXLOWER.encode(&digest.as_ref()[..4]));
    cached(&name, |into| vendor(&project.join("Cargo.toml"), &into.join("vendor"), &["--locked"]))
        .map(|there| there.join("vendor"))
}

/// Returns a directory of the cache. If it is not there, `fetch` makes it; it gets its name once it is
/// complete.
fn cached(name: &str, fetch: impl FnOnce(&Path) -> Option<()>) -> Option<PathBuf> {
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
