//! The measured policies. Each allows everything that the work does.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::error::{Context, Error};
use crate::world::World;

/// A kind of policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// One rule that allows everything.
    Everything,
    /// Whole hierarchies by name, without the built-in base: what Landlock can grant exactly.
    Exact,
}

impl PolicyKind {
    /// The path of the policy.
    pub fn path(self, world: &World) -> PathBuf {
        let name = match self {
            PolicyKind::Everything => "everything.json",
            PolicyKind::Exact => "exact.json",
        };
        world.root().join(name)
    }
}

/// Creates a world with all policies.
///
/// # Errors
/// If something cannot be written.
pub fn world(directory: Option<&Path>) -> Result<World, Error> {
    let world = World::new(directory)?;
    write(&world)?;
    Ok(world)
}

fn write(world: &World) -> Result<(), Error> {
    for kind in [PolicyKind::Everything, PolicyKind::Exact] {
        let path = kind.path(world);
        fs::write(&path, document(kind, world).to_string()).context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Writes a policy that allows everything and has `count` more rules. Returns its path.
///
/// # Errors
/// When it cannot be written.
pub fn write_rules(world: &World, count: usize) -> Result<PathBuf, Error> {
    let rule = |index: usize| match index % 3 {
        0 => format!("/srv/project{index}/**"),
        1 => format!("/home/*/.cache/tool{index}/**"),
        _ => format!("/opt/tool{index}/bin/tool"),
    };
    let mut document = document(PolicyKind::Everything, world);
    let rules = document["permissions"]["filesystem"]["rules"].as_object_mut();
    rules.into_iter().for_each(|rules| rules.extend((0..count).map(|index| (rule(index), json!("rwx")))));
    let path = world.root().join(format!("rules{count}.json"));
    fs::write(&path, document.to_string()).context(|| path.display().to_string())?;
    Ok(path)
}

/// The system files that programs need.
const SYSTEM: [(&str, &str); 11] = [
    ("/usr", "r-x"),
    ("/bin", "r-x"),
    ("/sbin", "r-x"),
    ("/lib", "r-x"),
    ("/lib64", "r-x"),
    ("/etc", "r--"),
    ("/dev/null", "rw-"),
    ("/dev/zero", "rw-"),
    ("/dev/full", "rw-"),
    ("/dev/random", "r--"),
    ("/dev/urandom", "r--"),
];

fn document(kind: PolicyKind, world: &World) -> Value {
    let files = match kind {
        PolicyKind::Everything => json!({ "rules": { "/**": "rwx" } }),
        PolicyKind::Exact => {
            let mut rules: serde_json::Map<String, Value> = SYSTEM
                .into_iter()
                // A link (such as /bin on a merged /usr) is not a hierarchy of its own, and Landlock does not follow it
                // by name.
                .filter(|(path, _)| fs::symlink_metadata(path).is_ok_and(|file| !file.is_symlink()))
                .map(|(path, bits)| {
                    let below = if path.starts_with("/dev/") { "" } else { "/**" };
                    (format!("{path}{below}"), json!(bits))
                })
                .collect();
            // Not the home: OpenClaw's files in it are denied, so Landlock could not grant all of it.
            rules.insert(format!("{}/**", world.work().display()), json!("rwx"));
            rules.insert(format!("{}/.config/**", world.other_home().display()), json!("r--"));
            rules.insert(world.other_home().join(".gitconfig").display().to_string(), json!("r--"));
            json!({ "rules": rules, "default": "---" })
        }
    };
    // Only the mechanism is measured. With protected paths in the workspace, the supervisor would handle its top.
    let mut permissions = json!({ "filesystem": files, "persistence": false });
    if kind == PolicyKind::Exact {
        permissions["base"] = json!(false);
    }
    // Not all of `/`: programs must be readable where they may start, and the policy denies some of `/`.
    let roots = [PathBuf::from("/usr"), world.work()];
    let exec = json!({ "security": "full", "ask": "off", "roots": roots });
    json!({ "version": 1, "exec": exec, "permissions": permissions })
}

#[cfg(test)]
mod tests {
    use guard_policy::Document;

    use super::{PolicyKind, document};

    #[test]
    fn the_policies_are_valid() {
        let world = super::world(Some(&std::env::temp_dir())).unwrap();
        for kind in [PolicyKind::Everything, PolicyKind::Exact] {
            Document::parse("guard.json", &document(kind, &world).to_string()).unwrap();
            assert!(kind.path(&world).is_file());
        }
        let text = std::fs::read_to_string(super::write_rules(&world, 100).unwrap()).unwrap();
        Document::parse("guard.json", &text).unwrap();
        assert_eq!(text.matches("\"rwx\"").count(), 101);
    }
}
