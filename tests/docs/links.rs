//! Everything that documents point at exists.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use guard_tests::sources;
use regex::Regex;

use crate::documents::{Document, document, documents};

static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\]\(([^)\s]+)\)").expect("an expression"));
/// `policy.md, "Persistence"`: a document and a heading of it.
static HEADING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\b(?:docs/)?([a-z-]+\.md)\)?, "([^"]+)""#).expect("an expression"));
static FILE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^[\w.-]+(?:/[\w.-]+)+\.(?:rs|py|mjs|svg|png|md)$").expect("an expression"));

/// Returns the anchor of a heading: lower case, with hyphens.
fn anchor(heading: &str) -> String {
    let letters = heading.chars().filter(|one| one.is_alphanumeric() || [' ', '-', '_'].contains(one));
    letters.collect::<String>().to_lowercase().replace(' ', "-")
}

fn headings(document: &Document) -> Vec<String> {
    let headings = document.prose().into_iter().filter(|(_, line)| line.starts_with('#'));
    headings.map(|(_, line)| line.trim_start_matches('#').trim().to_owned()).collect()
}

/// Returns a message if the target of a link does not exist.
fn broken(from: &Document, target: &str) -> Option<String> {
    if target.contains("://") {
        return None;
    }
    let (path, fragment) =
        target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let root = sources().join("..");
    let directory = root.join(&from.name).parent().expect("a directory").to_owned();
    let name = if path.is_empty() { from.name.clone() } else { path.to_owned() };
    let there = if path.is_empty() { root.join(&from.name) } else { directory.join(path) };
    if !there.exists() {
        return Some(format!("{}: {name} is not there", from.name));
    }
    let fragment = fragment?;
    let text = fs::read_to_string(there).ok()?;
    let to = Document { name, text };
    let known: HashSet<String> = headings(&to).iter().map(|heading| anchor(heading)).collect();
    (!known.contains(fragment)).then(|| format!("{}: {} has no heading #{fragment}", from.name, to.name))
}

#[test]
fn every_link_leads_somewhere() {
    let mut wrong = Vec::new();
    let mut count = 0;
    for document in documents() {
        let text: String = document.prose().into_iter().map(|(_, line)| format!("{line}\n")).collect();
        for link in LINK.captures_iter(&text) {
            count += 1;
            wrong.extend(broken(&document, &link[1]));
        }
    }
    assert!(count > 20, "{count} links");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_link_to_nowhere_is_found() {
    let from = document("docs/policy.md");
    assert_eq!(broken(&from, "templates.md"), None);
    assert_eq!(broken(&from, "#what-always-saves"), None);
    assert_eq!(broken(&from, "../README.md#limits"), None);
    assert!(broken(&from, "no-such.md").is_some());
    assert!(broken(&from, "#no-such-heading").is_some());
    assert!(broken(&from, "../README.md#no-such-heading").is_some());
}

#[test]
fn a_heading_that_is_named_is_there() {
    let mut wrong = Vec::new();
    for from in documents() {
        let text: String = from.prose().into_iter().map(|(_, line)| format!("{line} ")).collect();
        for named in HEADING.captures_iter(&text) {
            let name =
                if &named[1] == "README.md" { "README.md".to_owned() } else { format!("docs/{}", &named[1]) };
            let known = headings(&document(&name));
            if !known.iter().any(|heading| *heading == named[2]) {
                wrong.push(format!("{}: {name} has no {:?}", from.name, &named[2]));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Documents name files from the top, or from the directories of the supervisor or the policy.
#[test]
fn files_that_are_named_are_there() {
    let root = sources().join("..");
    let bases = [
        "",
        "supervisor/src",
        "policy",
        "policy/src",
        "shim/src",
        "bench",
        "tests",
        "cli/src",
        "approvals/src",
        "openclaw/src",
    ];
    let mut wrong = Vec::new();
    for document in documents() {
        for (line, text) in document.inline().into_iter().filter(|(_, text)| FILE.is_match(text)) {
            if !bases.iter().any(|base| root.join(base).join(&text).exists()) {
                wrong.push(format!("{}:{line}: {text}", document.name));
            }
        }
    }
    assert!(wrong.is_empty(), "not there:\n{}", wrong.join("\n"));
}

fn sources_below(directory: &Path, found: &mut Vec<(String, String)>) {
    for path in fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry").path()) {
        if path.is_dir() {
            sources_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push((path.display().to_string(), fs::read_to_string(&path).expect("a source")));
        }
    }
}

/// `//! Why: docs/decisions.md, "The front relays, not the supervisor."`: the beginning of a decision.
static DECISION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"docs/decisions\.md, "([^"]+)""#).expect("an expression"));

/// Returns the decisions that a source names, and whether `decisions` has each.
fn named_decisions(source: &str, decisions: &str) -> Vec<(String, bool)> {
    let comments = source.lines().filter_map(|line| line.trim_start().strip_prefix("//"));
    let text = comments.flat_map(|text| text.trim_start_matches(['/', '!']).split_whitespace());
    let text = text.collect::<Vec<_>>().join(" ");
    let named = DECISION.captures_iter(&text).map(|found| found[1].to_owned());
    named.map(|name| (name.clone(), decisions.contains(&format!("**{name}")))).collect()
}

#[test]
fn decisions_that_code_names_are_there() {
    let text = document("docs/decisions.md").text;
    let decisions = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut code = Vec::new();
    for part in ["shim", "policy/src", "openclaw/src", "approvals/src", "supervisor/src", "cli/src"] {
        sources_below(&sources().join("..").join(part), &mut code);
    }
    let named: Vec<(String, String, bool)> = code
        .iter()
        .flat_map(|(path, source)| {
            named_decisions(source, &decisions)
                .into_iter()
                .map(|(name, is_there)| (path.clone(), name, is_there))
        })
        .collect();
    let wrong: Vec<_> = named.iter().filter(|(.., is_there)| !is_there).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(named.len() > 40, "{} links from code to decisions", named.len());
    let missing = "//! Why: docs/decisions.md, \"No such\n//! decision.\"\n";
    assert_eq!(named_decisions(missing, &decisions), [("No such decision.".to_owned(), false)]);
}

/// docs/architecture.md names files by their last part, and functions and types as code does.
#[test]
fn code_that_the_architecture_names_is_there() {
    let root = sources().join("..");
    let mut code = Vec::new();
    ["supervisor/src", "policy/src", "shim/src", "bench/src", "cli/src", "approvals/src", "openclaw/src"]
        .iter()
        .for_each(|part| sources_below(&root.join(part), &mut code));
    let is_there = |text: &str| match text.rsplit_once("::") {
        _ if text.ends_with(".rs") => code.iter().any(|(path, _)| path.ends_with(&format!("/{text}"))),
        Some((of, name)) => {
            let function = Regex::new(&format!(r"\bfn {name}\b")).expect("an expression");
            let of = of.trim_start_matches("guard_policy");
            code.iter()
                .any(|(path, text)| (text.contains(of) || path.contains(of)) && function.is_match(text))
        }
        None => true,
    };
    let named = document("docs/architecture.md").inline();
    let wrong: Vec<_> = named.iter().filter(|(_, text)| !text.contains(' ') && !is_there(text)).collect();
    assert!(wrong.is_empty(), "docs/architecture.md names what is not there: {wrong:#?}");
}
