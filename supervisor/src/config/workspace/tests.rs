use std::fs;
use std::os::unix::fs::symlink;

use clap::Parser;
use tempfile::TempDir;

use super::*;
use crate::config::workspace_record;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Options,
}

/// A home with `work/a` and `work/b`, and a state directory. None of them is a repository.
struct Projects {
    directory: TempDir,
    options: Options,
}

impl Projects {
    fn new() -> Projects {
        let directory = tempfile::tempdir().unwrap();
        let projects = Projects { directory, options: Line::parse_from(["x"]).options };
        for name in ["home/work/a/src", "home/work/b", "home/.ssh", "state"] {
            fs::create_dir_all(projects.at(name)).unwrap();
        }
        projects
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn repository(&self, name: &str) {
        fs::create_dir_all(self.at(name).join(".git")).unwrap();
    }

    fn paths(&self, start: &str) -> Paths {
        let options = Options { home: Some(self.at("home")), ..self.options.clone() };
        let mut paths = Paths::find(&options).unwrap();
        paths.cwd = self.at(start);
        paths.state_directory = self.at("state");
        paths.persistence_sites.start_link = None;
        paths
    }

    fn find(&self, start: &str) -> Workspace {
        find(&self.options, &self.paths(start), |_| false)
    }

    /// The workspace of a run that starts there, below the home.
    fn workspace(&self, start: &str) -> String {
        let found = self.find(start).root.map(|root| String::from_utf8(root).unwrap());
        let home = format!("{}/", self.at("home").display());
        found.map_or_else(|| "nothing".to_owned(), |root| root.replacen(&home, "", 1))
    }

    /// Records a run that may write in its workspace, and in these directories.
    fn run(&self, start: &str, also: &[&str]) {
        let mut open: Vec<PathBuf> = also.iter().map(|name| self.at(name)).collect();
        open.extend(self.find(start).root.map(|root| self.at(std::str::from_utf8(&root).unwrap())));
        let writable = |path: &[u8]| {
            open.iter().any(|open| path.starts_with(&[open.as_os_str().as_bytes(), b"/"].concat()))
        };
        let state = self.at("state");
        let places = workspace_record::of_run(&self.at(start), &self.at("home"), writable, &[]);
        workspace_record::write(std::slice::from_ref(&state), &places).unwrap();
    }
}

#[test]
fn the_top_of_the_repository_or_the_start_directory() {
    let projects = Projects::new();
    assert_eq!(projects.workspace("home/work/a/src"), "work/a/src");
    projects.repository("home/work/a");
    assert_eq!(projects.workspace("home/work/a/src"), "work/a");
    assert_eq!(projects.workspace("home/work/a"), "work/a");
    assert_eq!(projects.workspace("home/work/b"), "work/b");
    // A worktree and a submodule have a file.
    fs::write(projects.at("home/work/b/.git"), "gitdir: elsewhere").unwrap();
    fs::create_dir(projects.at("home/work/b/src")).unwrap();
    assert_eq!(projects.workspace("home/work/b/src"), "work/b");
    assert_eq!(projects.find("home/work/b/src"), Workspace::at(bytes(&projects.at("home/work/b"))));
    // The workspace stays the same after these runs.
    for start in ["home/work/a", "home/work/a/src", "home/work/b/src"] {
        projects.run(start, &[]);
    }
    assert_eq!(projects.workspace("home/work/a/src"), "work/a");
    assert_eq!(projects.workspace("home/work/b/src"), "work/b");
}

#[test]
fn a_home_and_what_is_around_it_is_none() {
    let projects = Projects::new();
    // The home is a repository of dotfiles.
    projects.repository("home");
    projects.repository("");
    assert_eq!(projects.workspace("home/work/a"), "work/a");
    for start in ["home", "", "/", "home/.config", "/etc", "/usr"] {
        fs::create_dir_all(projects.at("home/.config")).unwrap();
        let found = projects.find(start);
        assert!(found.root.is_none() && found.note.is_some(), "{start}");
        assert_eq!(found.others, [bytes(&projects.at(start))], "denials hold in {start}");
    }
    projects.run("home", &[]);
    assert!(!projects.at("state/guard").exists(), "nothing is open to such a run");
}

#[test]
fn an_untrusted_start_directory_is_none() {
    let mut projects = Projects::new();
    projects.repository("home/work/a");
    projects.options.untrusted_environment = true;
    assert_eq!(projects.find("home/work/a/src").root, None);
    assert_eq!(projects.find("home/work/a").root, None);
    projects.options.untrusted_environment = false;
    let mut paths = projects.paths("home/work/a");
    paths.persistence_sites.start_link = Some(b"/home/link".to_vec());
    assert_eq!(find(&projects.options, &paths, |_| false).root, None, "a link led there");
    paths.cwd = projects.at("home/work/a/src");
    assert_eq!(find(&projects.options, &paths, |_| false).root, None, "a link led there");
}

/// Each attack prepares a workspace for a later run that starts in `work/a` or `work/a/src`.
#[test]
fn no_earlier_run_widens_the_workspace() {
    type Attack = (&'static str, fn(&Projects), &'static str, &'static str);
    let attacks: [Attack; 9] = [
        (
            "a repository in a directory around it",
            |projects| {
                projects.run("home/work", &[]);
                projects.repository("home/work");
            },
            "home/work/a/src",
            "work/a/src",
        ),
        (
            "a file in the place of a repository",
            |projects| {
                projects.run("home/work", &[]);
                fs::write(projects.at("home/work/.git"), "gitdir: b").unwrap();
            },
            "home/work/a",
            "work/a",
        ),
        (
            "a link in the place of a repository, wherever it was made",
            |projects| {
                symlink("b", projects.at("home/work/.git")).unwrap();
            },
            "home/work/a",
            "work/a",
        ),
        (
            "a repository between the top and the start",
            |projects| {
                projects.repository("home/work");
                projects.run("home/work", &[]);
                projects.repository("home/work/a");
            },
            "home/work/a/src",
            "work/a/src",
        ),
        (
            "a repository that a later start in it makes no better",
            |projects| {
                projects.run("home/work", &[]);
                projects.repository("home/work/a");
                projects.run("home/work/a", &[]);
            },
            "home/work/a/src",
            "work/a/src",
        ),
        (
            "a repository taken away, so that one above is found",
            |projects| {
                projects.repository("home/work");
                projects.repository("home/work/a");
                projects.run("home/work/a", &[]);
                fs::remove_dir(projects.at("home/work/a/.git")).unwrap();
            },
            "home/work/a/src",
            "work/a/src",
        ),
        (
            "a repository in a directory that a rule opened then",
            |projects| {
                projects.run("home/work/b", &["home/work"]);
                projects.repository("home/work");
            },
            "home/work/a",
            "work/a",
        ),
        (
            "an empty record's end, cut off",
            |projects| {
                projects.run("home/work", &[]);
                projects.repository("home/work");
                let file = projects.at("state/guard/workspaces.jsonl");
                let text = fs::read_to_string(&file).unwrap();
                fs::write(&file, &text[..text.len() - 1]).unwrap();
            },
            "home/work/a",
            "work/a",
        ),
        (
            "a full record",
            |projects| {
                projects.run("home/work/b", &[]);
                let file = projects.at("state/guard/workspaces.jsonl");
                let text = fs::read_to_string(&file).unwrap();
                fs::write(&file, text.repeat((1 << 20) / text.len() + 1)).unwrap();
                projects.run("home/work", &[]);
                projects.repository("home/work");
            },
            "home/work/a",
            "work/a",
        ),
    ];
    for (name, attack, start, expected) in attacks {
        let projects = Projects::new();
        attack(&projects);
        assert_eq!(projects.workspace(start), expected, "{name}");
        let found = projects.find(start);
        if !name.contains("taken away") {
            assert!(found.note.is_some(), "{name}");
        }
        // A `.git` that the tree made does not lift a denial around it.
        let meant = projects.at("home/work");
        if is_repository(&meant) {
            assert!(found.others.contains(&bytes(&meant)), "{name}: {:?}", found.others);
        }
    }
}

#[test]
fn a_repository_from_before_the_first_run_stays_one() {
    let projects = Projects::new();
    projects.repository("home/work/a");
    projects.run("home/work/a/src", &[]);
    projects.run("home/work", &[]);
    assert_eq!(projects.workspace("home/work/a/src"), "work/a");
    // A repository that an earlier run could have made does not count.
    projects.repository("home/work/b");
    fs::create_dir(projects.at("home/work/b/src")).unwrap();
    assert_eq!(projects.workspace("home/work/b/src"), "work/b/src");
    assert_eq!(projects.workspace("home/work/b"), "work/b");
}

#[test]
fn a_repository_that_is_put_at_the_start_lifts_no_denial_around_it() {
    let projects = Projects::new();
    projects.repository("home/work");
    projects.run("home/work", &[]);
    projects.repository("home/work/a");
    let found = projects.find("home/work/a");
    assert_eq!((found.root, found.note), (Some(bytes(&projects.at("home/work/a"))), None));
    assert_eq!(found.others, [bytes(&projects.at("home/work"))]);
    // The operator's own project in another one is a project by itself.
    let projects = Projects::new();
    projects.repository("home/work");
    projects.repository("home/work/a");
    assert_eq!(projects.find("home/work/a"), Workspace::at(bytes(&projects.at("home/work/a"))));
}

#[test]
fn where_the_policy_lets_every_run_write_no_top_counts() {
    let projects = Projects::new();
    projects.repository("home/work");
    let paths = projects.paths("home/work/a");
    let git = projects.at("home/work/.git");
    let writable = |path: &[u8]| path == git.as_os_str().as_bytes();
    let found = find(&projects.options, &paths, writable);
    assert_eq!(found.root, Some(bytes(&projects.at("home/work/a"))));
    assert!(found.note.is_some_and(|note| note.contains("lets every run")));
}

#[test]
fn another_users_repository_is_none() {
    let projects = Projects::new();
    projects.repository("home/work");
    if rustix::process::geteuid().is_root() {
        for of_user in ["home/work/.git", "home/work"] {
            std::os::unix::fs::chown(projects.at(of_user), Some(12345), None).unwrap();
            assert_eq!(projects.workspace("home/work/a"), "work/a", "{of_user}");
            std::os::unix::fs::chown(projects.at(of_user), Some(0), None).unwrap();
        }
    }
    assert_eq!(projects.workspace("home/work/a"), "work");
}

#[test]
fn a_record_that_is_no_file_vouches_for_nothing() {
    let projects = Projects::new();
    projects.repository("home/work");
    fs::create_dir_all(projects.at("state/guard/workspaces.jsonl")).unwrap();
    assert_eq!(projects.workspace("home/work/a"), "work/a");
    let (state, start, home) = (projects.at("state"), projects.at("home/work"), projects.at("home"));
    let places = workspace_record::of_run(&start, &home, |_| true, &[]);
    assert!(workspace_record::write(std::slice::from_ref(&state), &places).is_err());
    fs::remove_dir(projects.at("state/guard/workspaces.jsonl")).unwrap();
    // A record that a link leads to vouches for nothing, either.
    fs::write(projects.at("elsewhere"), "").unwrap();
    symlink(projects.at("elsewhere"), projects.at("state/guard/workspaces.jsonl")).unwrap();
    assert_eq!(projects.workspace("home/work/a"), "work/a");
    assert!(workspace_record::write(std::slice::from_ref(&state), &places).is_err());
    assert_eq!(fs::read_to_string(projects.at("elsewhere")).unwrap(), "");
}

#[test]
fn a_record_that_is_lost_says_why() {
    let projects = Projects::new();
    let states = [projects.at("state")];
    assert!(workspace_record::lost(&states).is_none());
    projects.run("home/work", &[]);
    assert!(workspace_record::lost(&states).is_none());
    let file = projects.at("state/guard/workspaces.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    let lost = |text: &str| {
        fs::write(&file, text).unwrap();
        workspace_record::lost(&states).map(|(_, why)| why.to_string()).unwrap_or_default()
    };
    assert_eq!(lost(&text[..text.len() - 1]), "line 1 is not whole");
    assert_eq!(lost(&format!("{text}\n{text}")), "line 2 is not whole");
    assert_eq!(lost(&text.repeat((4 << 20) / text.len() + 1)), "it is full, at 4194304 bytes");
    assert_eq!(lost(&text), "");
}
