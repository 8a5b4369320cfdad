//! `policy show --tiers`: what the kernel may be left to decide.

use std::collections::BTreeMap;
use std::io::Write;

use guard_policy::text::shown;
use guard_policy::{Access, Hierarchy, HierarchyKind, MAX_HIERARCHIES, Policy, Tiers};
use guard_supervisor::landlock::Names;
use serde::Serialize;

use super::PolicyError;
use super::findings::print_json;

/// The plan in JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct TiersOutput<'a> {
    agent: &'a str,
    file: &'a str,
    classes: BTreeMap<&'static str, Class>,
    hierarchies: Vec<Granted>,
    /// Whether there are more hierarchies than Landlock is given.
    is_cut: bool,
}

#[derive(Serialize)]
struct Class {
    exact: bool,
    #[serde(rename = "because", skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Serialize)]
struct Granted {
    path: String,
    access: &'static str,
    kind: &'static str,
}

/// Prints the plan of the policy in `file` for `agent`.
///
/// # Errors
/// When the output cannot be written.
pub fn print(policy: &Policy, file: &str, as_json: bool) -> Result<(), PolicyError> {
    let names = Names::read();
    let tiers = policy.tiers(&|directory| names.list(directory));
    if as_json {
        Ok(print_json(&plan(policy.agent(), file, &tiers))?)
    } else {
        Ok(text(policy, file, &tiers)?)
    }
}

fn plan<'a>(agent: &'a str, file: &'a str, tiers: &Tiers) -> TiersOutput<'a> {
    let class = |(name, exactness): (_, &guard_policy::Exactness)| {
        (name, Class { exact: exactness.is_exact(), reason: exactness.reason().map(str::to_owned) })
    };
    let granted = |hierarchy: &Hierarchy| Granted {
        path: String::from_utf8_lossy(&hierarchy.path).into_owned(),
        access: letters(hierarchy.access),
        kind: match hierarchy.kind {
            HierarchyKind::Directory => "directory",
            HierarchyKind::File => "file",
        },
    };
    TiersOutput {
        agent,
        file,
        classes: tiers.classes.iter().map(class).collect(),
        hierarchies: tiers.hierarchies.iter().map(granted).collect(),
        is_cut: tiers.is_cut,
    }
}

fn text(policy: &Policy, file: &str, tiers: &Tiers) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    writeln!(out, "agent {}, {}", shown(policy.agent().as_bytes()), shown(file.as_bytes()))?;
    writeln!(out, "\nclasses of calls: those of an exact class are not held at all")?;
    for (name, exactness) in tiers.classes.iter() {
        writeln!(out, "  {name:<8} {}", shown(exactness.to_string().as_bytes()))?;
    }
    writeln!(
        out,
        "\nhierarchies that are allowed as a whole: the kernel decides there, the broker elsewhere"
    )?;
    for Hierarchy { path, access, kind } in &tiers.hierarchies {
        let below = if *kind == HierarchyKind::File || path == b"/" { "" } else { "/" };
        writeln!(out, "  {:<2}  {}{below}", letters(*access), shown(path))?;
    }
    if tiers.hierarchies.is_empty() {
        writeln!(out, "  nothing")?;
    }
    if tiers.is_cut {
        writeln!(out, "  and more: these are the {MAX_HIERARCHIES} nearest to /")?;
    }
    out.flush()
}

fn letters(access: Access) -> &'static str {
    match (access.contains(Access::READ), access.contains(Access::WRITE)) {
        (true, true) => "rw",
        (true, false) => "r",
        (false, _) => "w",
    }
}
