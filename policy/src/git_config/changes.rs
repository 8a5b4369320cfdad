//! Compares two configurations, and decides whether the difference could run anything.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::lines::first_odd;
use super::parse::{Entry, MAX_BYTES, parse};
use super::table::{executing_key, safe_key};
use super::values::{Around, Values, is_name};
use crate::text::shown;

/// Why a new configuration is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// What is refused: a key, or a line.
    pub(crate) subject: String,
    pub(crate) why: Cow<'static, str>,
}

impl Refusal {
    pub(super) fn new(subject: impl Into<String>, why: impl Into<Cow<'static, str>>) -> Refusal {
        Refusal { subject: subject.into(), why: why.into() }
    }

    /// The refusal of a line that git does not write like this.
    pub(super) fn odd_line(line: usize) -> Refusal {
        let why = "git does not write a line like this, and other programs could read it differently";
        Refusal::new(format!("line {line}"), why)
    }
}

/// Returns the names of the keys that were added, changed or removed, if all of them run nothing. `old` is empty if
/// there is no configuration yet. `own_remotes` are the remotes that the tree added.
pub(crate) fn changed_keys(
    old: &[u8],
    new: &[u8],
    around: Around<'_>,
    own_remotes: &[Vec<u8>],
) -> Result<Vec<String>, Refusal> {
    let (before, after) = (read(old, "what is there")?, read(new, "what is new")?);
    let is_safe = |entry: &&Entry| objection(entry, around).is_none();
    same_order(&before, &after, around)?;
    let names = changed(&before, &after);
    for name in &names {
        // An entry may override another one of the same name, so every entry of a changed name must run nothing.
        let is_mixed = |entry: &Entry| entry.name == *name && !is_safe(&entry);
        if let Some(entry) = before.iter().chain(&after).find(|entry| is_mixed(entry)) {
            return Err(refuse(entry, "changed", around));
        }
    }
    remotes_have_urls(&before, &after)?;
    remotes_stay(&before, &after, own_remotes)?;
    if let Some(line) = first_odd(old, new) {
        return Err(Refusal::odd_line(line));
    }
    Ok(names.into_iter().map(shown).collect())
}

pub(super) fn read(text: &[u8], what: &str) -> Result<Vec<Entry>, Refusal> {
    if text.len() > MAX_BYTES {
        return Err(Refusal::new("the file", format!("{what} is larger than 1 MiB")));
    }
    parse(text).map_err(|error| {
        Refusal::new(format!("line {}", error.line), format!("{what} does not parse: {}", error.what))
    })
}

/// Why an entry may run something.
pub(super) fn objection(entry: &Entry, around: Around<'_>) -> Option<&'static str> {
    let (section, subsection, key) = (entry.section(), entry.subsection(), entry.key());
    let Some(safe) = safe_key(section, subsection, key) else {
        return Some("it is not among the keys that are known to run nothing");
    };
    if subsection.is_some_and(|name| !is_subsection(section, name)) {
        return Some("a part of its name may make git run something");
    }
    safe.values.objection(entry, around)
}

/// Names of remotes and submodules become paths below the git directory.
fn is_subsection(section: &[u8], name: &[u8]) -> bool {
    match section {
        b"remote" | b"submodule" => is_name(name),
        _ => !name.iter().any(u8::is_ascii_control),
    }
}

fn refuse(entry: &Entry, how: &str, around: Around<'_>) -> Refusal {
    let known = executing_key(entry.section(), entry.subsection(), entry.key());
    let name = match known {
        Some((name, _)) if !name.contains('*') => name.to_owned(),
        _ => shown(&entry.name),
    };
    let beside = "another entry of this name may make git run something";
    let why = known
        .map(|(_, why)| why)
        .or_else(|| objection(entry, Around { depth: None, ..around }))
        .unwrap_or(beside);
    Refusal::new(format!("{how} {name}"), why)
}

/// The entries that may run something must be the same, in the same order: the last one of a name counts, and an include
/// counts where it stands.
fn same_order(before: &[Entry], after: &[Entry], around: Around<'_>) -> Result<(), Refusal> {
    let is_safe = |entry: &&Entry| objection(entry, around).is_none();
    let mut old = before.iter().filter(|entry| !is_safe(entry));
    let mut new = after.iter().filter(|entry| !is_safe(entry));
    loop {
        let (was, is) = (old.next(), new.next());
        match (was, is) {
            (None, None) => return Ok(()),
            _ if was == is => {}
            (Some(was), _) if !after.contains(was) => {
                let how =
                    if after.iter().any(|entry| entry.name == was.name) { "changed" } else { "removed" };
                return Err(refuse(was, how, around));
            }
            (_, Some(is)) => {
                let how = if before.contains(is) { "moved" } else { "added" };
                return Err(refuse(is, how, around));
            }
            (Some(was), None) => return Err(refuse(was, "removed", around)),
        }
    }
}

/// The names whose lists of values differ.
fn changed<'e>(before: &'e [Entry], after: &'e [Entry]) -> BTreeSet<&'e [u8]> {
    let values = |entries: &'e [Entry]| {
        let mut values: HashMap<&'e [u8], Vec<Option<&'e [u8]>>> = HashMap::new();
        for entry in entries {
            values.entry(&entry.name).or_default().push(entry.value.as_deref());
        }
        values
    };
    let (old, new) = (values(before), values(after));
    let names = old.keys().chain(new.keys()).copied();
    names.filter(|name| old.get(name) != new.get(name)).collect()
}

/// git takes the name of a remote without a URL for a path, and a push to a path runs that repository's hooks.
pub(super) fn remotes_have_urls(before: &[Entry], after: &[Entry]) -> Result<(), Refusal> {
    let dangling = |entries: &[Entry]| {
        let known = with_url(entries);
        let has_url = |name: &[u8]| known.contains(name);
        let named = entries.iter().filter(|entry| {
            safe_key(entry.section(), entry.subsection(), entry.key())
                .is_some_and(|key| key.values == Values::Remote)
        });
        let values = named.filter_map(|entry| Some((entry.value.clone()?, entry.clone())));
        let odd = values.filter(|(name, _)| name != b"." && !has_url(name));
        odd.collect::<HashMap<Vec<u8>, Entry>>()
    };
    let known = dangling(before);
    let first = dangling(after)
        .into_iter()
        .filter(|(name, _)| !known.contains_key(name))
        .min_by(|a, b| a.0.cmp(&b.0));
    match first {
        None => Ok(()),
        Some((name, entry)) => Err(Refusal::new(
            shown(&entry.name),
            format!("remote {} would have no URL, and git would take its name for a path", shown(&name)),
        )),
    }
}

/// The operator types the name of a remote. If it has no URL, git takes the name for a path, and the tree may put a
/// repository there.
pub(super) fn remotes_stay(before: &[Entry], after: &[Entry], own: &[Vec<u8>]) -> Result<(), Refusal> {
    let kept = with_url(after);
    let is_lost = |name: &&&[u8]| !kept.contains(**name) && !own.iter().any(|own| own == **name);
    match with_url(before).iter().find(is_lost) {
        None => Ok(()),
        Some(name) => Err(Refusal::new(
            format!("removed remote.{}.url", shown(name)),
            "git would take the name of the remote for a path, and run the hooks of a repository there at a push",
        )),
    }
}

/// The names of the remotes that have a URL.
fn with_url(entries: &[Entry]) -> BTreeSet<&[u8]> {
    let urls = entries.iter().filter(|entry| entry.section() == b"remote" && entry.key() == b"url");
    urls.filter_map(Entry::subsection).collect()
}

/// Returns the entries of each remote that has a URL, in the configuration's order. Empty if the configuration does not parse.
pub fn remotes(text: &[u8]) -> BTreeMap<Vec<u8>, Vec<Entry>> {
    let entries = parse(text).unwrap_or_default();
    let of_remotes = entries.iter().filter(|entry| entry.section() == b"remote");
    let mut remotes: BTreeMap<Vec<u8>, Vec<Entry>> =
        with_url(&entries).into_iter().map(|name| (name.to_vec(), Vec::new())).collect();
    for entry in of_remotes {
        if let Some(said) = entry.subsection().and_then(|name| remotes.get_mut(name)) {
            said.push(entry.clone());
        }
    }
    remotes
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "[core]\n\tbare = false\n\thooksPath = /dev/null\n[remote \"origin\"]\n\turl = https://h/r\n\
        \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n";

    /// Returns the names that change, or the refusal.
    fn judged(old: &str, new: &str) -> Result<String, String> {
        let own = ["fork", "x"].map(|name| name.as_bytes().to_vec());
        let names = changed_keys(old.as_bytes(), new.as_bytes(), Around::default(), &own);
        names.map(|names| names.join(" ")).map_err(|refusal| format!("{}: {}", refusal.subject, refusal.why))
    }

    fn with(more: &str) -> Result<String, String> {
        judged(OLD, &format!("{OLD}{more}"))
    }

    #[test]
    fn keys_that_run_nothing_come_change_and_go() {
        for (more, names) in [
            ("", ""),
            ("# a comment\n\n", ""),
            ("[user]\n\tname = A U\n\temail = a@b\n", "user.email user.name"),
            ("[remote \"fork\"]\n\turl = git@h:u/r\n", "remote.fork.url"),
            (
                "[branch \"a/b.c\"]\n\tremote = .\n\tmerge = refs/heads/x\n",
                "branch.a/b.c.merge branch.a/b.c.remote",
            ),
            (
                "[submodule \"s\"]\n\turl = https://h/s\n\tactive = true\n",
                "submodule.s.active submodule.s.url",
            ),
            ("[advice]\n\tdetachedHead = false\n", "advice.detachedhead"),
        ] {
            assert_eq!(with(more), Ok(names.to_owned()), "{more}");
            assert_eq!(judged(&format!("{OLD}{more}"), OLD), Ok(names.to_owned()), "without {more}");
        }
        assert_eq!(
            judged(OLD, &OLD.replace("main", "next")).unwrap(),
            "branch.main.merge branch.main.remote branch.next.merge branch.next.remote"
        );
        assert_eq!(
            judged("", OLD.replace("\thooksPath = /dev/null\n", "").as_str()).unwrap().split(' ').count(),
            5
        );
    }

    #[test]
    fn keys_that_run_something_do_not() {
        for (more, subject) in [
            ("[core]\n\thooksPath = x\n", "added core.hooksPath"),
            ("[CORE]\n\tHOOKSPATH = x\n", "added core.hooksPath"),
            ("[alias]\n\tst = !x\n", "added alias.st"),
            ("[filter \"x\"]\n\tclean = y\n", "added filter.x.clean"),
            ("[Include]\n\tpath = x\n", "added include.path"),
            ("[includeIf \"onbranch:main\"]\n\tpath = x\n", "added includeif.onbranch:main.path"),
            ("[unheard]\n\tof = x\n", "added unheard.of"),
            ("[user]\n\tunheard = x\n", "added user.unheard"),
            ("[remote \"origin\"]\n\tuploadpack = x\n", "added remote.origin.uploadpack"),
            ("[submodule \"s\"]\n\tupdate = !x\n", "added submodule.s.update"),
            ("[extensions]\n\tworktreeConfig = true\n", "added extensions.worktreeconfig"),
            ("[extensions]\n\trefStorage = reftable\n", "added extensions.refstorage"),
            ("[core]\n\tbare = true\n", "added core.bare"),
            ("[core]\n\tworktree = /\n", "added core.worktree"),
            ("[remote \"x\"]\n\turl = ext::x\n", "added remote.x.url"),
            ("[remote \"x\"]\n\turl = ./x\n", "added remote.x.url"),
            ("[remote \"../x\"]\n\turl = https://h/r\n", "added remote.../x.url"),
            ("[submodule \"../x\"]\n\turl = https://h/r\n", "added submodule.../x.url"),
            ("[branch \"x\"]\n\tremote = ext::x\n", "added branch.x.remote"),
            ("[branch \"x\"]\n\tremote = evil\n", "branch.x.remote"),
            ("[user]\n\tname = a\\nb\n", "added user.name"),
            ("[user]\n\tname = a\\\nb\n", "line 11"),
            ("[user] name = a\n", "line 10"),
            ("[user]\n\tname = \0\n", "line 11"),
            ("[user\n", "line 11"),
        ] {
            let refused = with(more).unwrap_err();
            assert!(refused.starts_with(&format!("{subject}: ")), "{more}: {refused}");
        }
    }

    #[test]
    fn what_keeps_something_from_running_stays() {
        let hooks = "\thooksPath = /dev/null\n";
        for (new, subject) in [
            (OLD.replace(hooks, ""), "removed core.hooksPath"),
            (OLD.replace("/dev/null", "x"), "changed core.hooksPath"),
            (OLD.replace(hooks, &format!("\thooksPath = x\n{hooks}")), "added core.hooksPath"),
            (OLD.replace(hooks, &format!("{hooks}\thooksPath = x\n")), "added core.hooksPath"),
            (String::new(), "removed core.hooksPath"),
            (OLD.replace("\turl = https://h/r\n", ""), "branch.main.remote"),
            (
                OLD.replace("\turl = https://h/r\n", "").replace("\tremote = origin\n", ""),
                "removed remote.origin.url",
            ),
            (
                OLD.replace("\"origin\"", "\"other\"").replace("= origin", "= other"),
                "removed remote.origin.url",
            ),
        ] {
            let refused = judged(OLD, &new).unwrap_err();
            assert!(refused.starts_with(&format!("{subject}: ")), "{refused}");
        }
        let two = OLD.replace(hooks, &format!("\thooksPath = x\n{hooks}"));
        let turned = OLD.replace(hooks, &format!("{hooks}\thooksPath = x\n"));
        assert!(judged(&two, &turned).unwrap_err().starts_with("moved core.hooksPath: "));
        assert!(judged("[x\n", OLD).unwrap_err().contains("what is there does not parse"));
        assert!(judged("", &" ".repeat(MAX_BYTES + 1)).unwrap_err().contains("larger than 1 MiB"));
        // The last entry of a name counts: a harmless one may have overridden a dangerous one.
        let bare = "[core]\n\tbare = true\n\tbare = false\n";
        assert!(judged(bare, "[core]\n\tbare = true\n").unwrap_err().starts_with("changed core.bare: "));
        // A remote of the operator's may have any URL, and may be tracked.
        let local = "[remote \"origin\"]\n\turl = /srv/r\n";
        assert!(judged(local, &format!("{local}[branch \"x\"]\n\tremote = origin\n")).is_ok());
        assert!(judged(local, "[remote \"origin\"]\n\turl = https://h/r\n").is_err());
    }

    #[test]
    fn the_files_of_a_submodule_lie_below_the_work_tree_around_it() {
        let config = |worktree: &str| format!("[core]\n\tworktree = {worktree}\n");
        let sub = config("../../../sub");
        let judged = |old: &str, new: &str, depth| {
            let around = Around { depth, this_host: &[] };
            changed_keys(old.as_bytes(), new.as_bytes(), around, &[])
        };
        assert!(judged("", &sub, Some(3)).is_ok() && judged(&sub, &sub, None).is_ok());
        for (old, new) in [("", &*sub), (&*sub, ""), (&*sub, &*config("../../../evil"))] {
            assert!(judged(old, new, None).is_err(), "{new}");
        }
        for worktree in ["../../../../sub", "../../../.git", "/", "../../.."] {
            assert!(judged("", &config(worktree), Some(3)).is_err(), "{worktree}");
        }
    }
}
