//! Tests of what "allow always" saves, and what it never saves.

use crate::common::{HOME, compile};
use guard_policy::analysis::InputKind;
use guard_policy::approval::{Always, AlwaysContext, OnDisk, Repeat, Saving, always};
use guard_policy::{Access, Exec, Policy, Request, Role};
use serde_json::{Value, json};

/// Everything in /usr may run, /open may be read and written, and everything else is asked about.
fn policy(exec: &Value) -> Policy {
    compile(&json!({"version": 1, "exec": exec, "permissions": {"base": false, "filesystem": {
        "rules": {"/usr/**": "r-x", "/open/**": "rw-", "/kept/**": "?--"}, "deny": ["/secret/**"], "default": "---"}},
        "agents": {"main": {"allowlist": [{"pattern": "/opt/listed"}, {"pattern": "/opt/python3"}]}}}))
}

fn argv(argv: &[&str]) -> Vec<Vec<u8>> {
    argv.iter().map(|argument| argument.as_bytes().to_vec()).collect()
}

/// The texts of the savings, then those of the second choice; or the reason why nothing is saved.
fn texts_of(always: &Always) -> Result<(Vec<String>, Vec<String>), &str> {
    let texts = |savings: &[Saving]| savings.iter().map(ToString::to_string).collect();
    match always {
        Always::Saves { narrow, directory } => Ok((texts(narrow), texts(directory))),
        Always::Never(why) => Err(why),
    }
}

fn saves(narrow: &[&str], directory: &[&str]) -> Result<(Vec<String>, Vec<String>), &'static str> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Ok((texts(narrow), texts(directory)))
}

fn of_file(path: &[u8], access: Access, is_directory: bool) -> Always {
    always(&policy(&json!({})), &[Request::File { path, access }], &|_: &[u8]| {
        if is_directory { OnDisk::Directory } else { OnDisk::File }
    })
}

fn of_exec(exec: &Value, programs: &[(&str, &[&str], Role)]) -> Always {
    let arguments: Vec<_> = programs.iter().map(|(_, arguments, _)| argv(arguments)).collect();
    let requests: Vec<Request<'_>> = programs
        .iter()
        .zip(&arguments)
        .map(|((path, _, role), argv)| {
            Request::Exec(Exec { path: path.as_bytes(), argv, cwd: b"/w", role: *role })
        })
        .collect();
    always(&policy(exec), &requests, &|_: &[u8]| OnDisk::File)
}

#[test]
fn a_file_is_saved_with_the_bits_that_are_asked() {
    let both = Access::READ | Access::WRITE;
    for (path, access, is_directory, narrow, directory) in [
        ("/srv/a", Access::READ, false, "\"/srv/a\" r", "\"/srv/**\" r"),
        ("/srv/a", both, false, "\"/srv/a\" rw", "\"/srv/**\" rw"),
        ("/srv/a/lib.so", Access::READ | Access::MAP, false, "\"/srv/a/lib.so\" rx", "\"/srv/a/**\" rx"),
        // The second choice for a directory is its contents, not its siblings.
        ("/srv/a", Access::READ, true, "\"/srv/a\" r", "\"/srv/a/**\" r"),
        // Only the home directory and the directories around it are too broad for one answer.
        ("/home/u/x/a", Access::READ, false, "\"/home/u/x/a\" r", "\"/home/u/x/**\" r"),
        ("/home/u/a", Access::READ, false, "\"/home/u/a\" r", ""),
        ("/home/u", Access::READ, true, "\"/home/u\" r", ""),
        ("/home/other", Access::READ, false, "\"/home/other\" r", ""),
        ("/a", Access::WRITE, false, "\"/a\" w", ""),
        ("/proc/meminfo", Access::READ, false, "\"/proc/meminfo\" r", ""),
        ("/proc/sys/a", Access::READ, false, "\"/proc/sys/a\" r", "\"/proc/sys/**\" r"),
        ("/srv/.. \u{7}\n", Access::READ, false, "\"/srv/.. \u{7}\n\" r", "\"/srv/**\" r"),
        ("/kept/a", Access::READ, false, "\"/kept/a\" r", "\"/kept/**\" r"),
        ("/usr/a", both, false, "", ""),
    ] {
        let found = of_file(path.as_bytes(), access, is_directory);
        let expected = match (narrow, directory) {
            ("", _) => Err("no saved rule or entry would change the answer"),
            (_, "") => saves(&[narrow], &[]),
            _ => saves(&[narrow], &[directory]),
        };
        assert_eq!(texts_of(&found), expected, "{path}");
    }
}

#[test]
fn a_path_that_no_rule_can_name_alone_is_not_saved() {
    for (path, why) in [
        (&b"/srv/a*b"[..], "contains * or ?"),
        (b"/srv/a?", "contains * or ?"),
        (b"/srv/d*/a", "contains * or ?"),
        (b"/srv/\xff", "not UTF-8"),
        (b"/", "no rule can match only its path"),
        (b"/srv/a/", "no rule can match only its path"),
        (b"/proc/12/maps", "another process may get that id"),
        (b"/proc/12", "another process may get that id"),
    ] {
        let found = of_file(path, Access::READ, false);
        assert!(texts_of(&found).is_err_and(|message| message.contains(why)), "{path:?}: {found:?}");
    }
    let long = format!("/{}", "x".repeat(5000));
    assert!(texts_of(&of_file(long.as_bytes(), Access::READ, false)).is_err());
}

#[test]
fn several_files_of_one_question_are_all_saved() {
    let policy = policy(&json!({}));
    let of = |paths: &[&'static str]| {
        let requests: Vec<_> =
            paths.iter().map(|path| Request::File { path: path.as_bytes(), access: Access::WRITE }).collect();
        always(&policy, &requests, &|_: &[u8]| OnDisk::File)
    };
    // A request that is already allowed needs nothing.
    let moved = of(&["/srv/a", "/open/x", "/srv/b", "/srv/a"]);
    assert_eq!(texts_of(&moved), saves(&["\"/srv/a\" w", "\"/srv/b\" w"], &["\"/srv/**\" w"]));
    // If one request has no second choice, the question has none.
    assert_eq!(texts_of(&of(&["/srv/a", "/b"])), saves(&["\"/srv/a\" w", "\"/b\" w"], &[]));
    assert!(texts_of(&of(&["/srv/a", "/srv/b*"])).is_err());
}

#[test]
fn a_program_is_saved_with_entry_and_bit() {
    const GIT: &str = "allowlist \"/usr/bin/git\" with these arguments in this directory";
    let git: (&str, &[&str], Role) = ("/usr/bin/git", &["git", "log"], Role::Program);
    assert_eq!(texts_of(&of_exec(&json!({}), &[git])), saves(&[GIT], &[]));
    let listed: (&str, &[&str], Role) = ("/opt/listed", &["listed"], Role::Program);
    assert_eq!(texts_of(&of_exec(&json!({}), &[listed])), saves(&["\"/opt/listed\" rx"], &[]));
    let neither: (&str, &[&str], Role) = ("/opt/x", &["x"], Role::Program);
    let entry = "allowlist \"/opt/x\" with these arguments in this directory";
    assert_eq!(texts_of(&of_exec(&json!({}), &[neither])), saves(&[entry, "\"/opt/x\" rx"], &[]));
    // A script and its interpreter.
    let script: (&str, &[&str], Role) = ("/usr/bin/s", &["s"], Role::Program);
    let runner: (&str, &[&str], Role) = ("/usr/bin/runner", &["runner", "/usr/bin/s"], Role::Interpreter);
    let both = of_exec(&json!({}), &[script, runner]);
    let Ok((narrow, _)) = texts_of(&both) else { panic!("both are saved") };
    assert_eq!(narrow.len(), 2);
    // An interpreter is never saved, and with the script alone the question would be asked again.
    let python: (&str, &[&str], Role) = ("/usr/bin/python3", &["python3", "/usr/bin/s"], Role::Interpreter);
    let why = Err("it runs code from a file that may change");
    assert_eq!(texts_of(&of_exec(&json!({}), &[script, python])), why);
    let shell: (&str, &[&str], Role) = ("/open/bash", &["bash"], Role::Program);
    assert!(texts_of(&of_exec(&json!({}), &[shell])).is_err());
}

#[test]
fn a_call_that_is_asked_about_each_time_is_never_saved() {
    let always_asked = json!({"ask": "always"});
    let strict = json!({"strictInlineEval": true});
    let each = |exec: &Value, path: &str, args: &[&str]| {
        let argv = argv(args);
        let exec_request = Exec { path: path.as_bytes(), argv: &argv, cwd: HOME, role: Role::Program };
        let repeat = policy(exec).repeats(&Request::Exec(exec_request));
        let saved = of_exec(exec, &[(path, args, Role::Program)]);
        if repeat == Repeat::AskedEachTime {
            assert_eq!(texts_of(&saved), Err("the effective policy requires approval every time"));
        }
        (repeat == Repeat::AskedEachTime, texts_of(&saved).is_ok())
    };
    assert_eq!(each(&always_asked, "/usr/bin/git", &["git"]), (true, false));
    assert_eq!(each(&always_asked, "/opt/listed", &["listed"]), (true, false));
    assert_eq!(each(&strict, "/opt/python3", &["python3", "-c", "1"]), (true, false));
    assert_eq!(each(&strict, "/opt/python3", &["python3", "x.py"]), (false, true));
    // `ask: always` does not ask about carriers.
    assert!(each(&always_asked, "/srv/bash", &["bash"]).0);
    assert_eq!(each(&always_asked, "/usr/bin/bash", &["bash"]), (false, false));
    let file = Request::File { path: b"/srv/a", access: Access::READ };
    assert_eq!(policy(&always_asked).repeats(&file), Repeat::Allowed);
}

/// An entry binds arguments and no input.
#[test]
fn code_from_a_pipe_is_never_saved() {
    let strict = json!({"strictInlineEval": true});
    let saved = of_exec(&strict, &[("/usr/bin/python3", &["python3", "-"], Role::Program)]);
    assert!(texts_of(&saved).is_ok());
    for kind in [InputKind::Pipe, InputKind::File, InputKind::Other] {
        let found = saved.clone().with_inputs([InputKind::Terminal, kind]);
        let why = "it runs code from standard input or a pipe, which an entry cannot bind";
        assert_eq!(texts_of(&found), Err(why), "{kind:?}");
    }
    assert_eq!(saved.clone().with_inputs([InputKind::Terminal]), saved);
    assert_eq!(saved.clone().with_inputs([]), saved);
}

/// A file that the tree may write may be a program to any program that is not known to read data. Afterwards the tree could
/// run anything by it.
#[test]
fn a_program_that_may_run_a_file_of_the_tree_is_not_saved() {
    let saves = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let argv = argv(&words);
        let exec = Exec { path: words[0].as_bytes(), argv: &argv, cwd: b"/open/d", role: Role::Program };
        let is_there = |path: &[u8]| match path {
            b"/open/d/x" | b"/usr/x" => OnDisk::File,
            b"/open/d/sub" => OnDisk::Directory,
            _ => OnDisk::Other,
        };
        let found = always(&policy(&json!({})), &[Request::Exec(exec)], &is_there);
        texts_of(&found).map(|_| ()).map_err(str::to_owned)
    };
    let may_run =
        Err("the tree may write a file among its arguments, which may be a program to it".to_owned());
    for line in [
        "/usr/bin/tool x",
        "/usr/bin/tool -o ./x",
        "/usr/bin/tool -f=x",
        "/usr/bin/tool @x",
        "/usr/bin/tool -fx",
    ] {
        assert_eq!(saves(line), may_run, "{line}");
    }
    for line in [
        "/usr/bin/tool /dev/fd/63",
        "/usr/bin/tool /dev//fd/../fd/63",
        "/usr/bin/tool -o/dev/stdout",
        "/usr/bin/tool /proc/self/cwd/y",
        "/usr/bin/tool /proc/7/cwd/y",
        "/usr/bin/vim x",
    ] {
        assert_eq!(saves(line), may_run, "{line}");
    }
    for line in [
        "/usr/bin/cat x",
        "/usr/bin/grep -f x y",
        "/usr/bin/ls -l sub",
        "/usr/bin/cp x y",
        "/usr/bin/jq .a x",
        "/usr/bin/git add x",
        "/usr/bin/tool sub --all",
        "/usr/bin/tool /usr/x",
        "/usr/bin/tool /proc/meminfo",
        "/usr/bin/tool y",
    ] {
        assert_eq!(saves(line), Ok(()), "{line}");
    }
}

/// Programs that run a file, by the names that distributions give them.
#[test]
fn no_interpreter_is_saved_under_another_name() {
    for line in [
        "/usr/bin/bash-static x.sh",
        "/usr/bin/zsh-static x.sh",
        "/usr/bin/posh x.sh",
        "/usr/bin/lksh x.sh",
        "/usr/bin/sash -f x.sh",
        "/usr/bin/original-awk -f x.awk",
        "/usr/bin/gnuplot-nox x.gp",
        "/usr/bin/php-cgi8.2 -q x.php",
        "/usr/bin/phpdbg8.2 -qrr x.php",
        "/usr/bin/mujs x.js",
        "/usr/bin/duk x.js",
        "/usr/bin/cmake -P x.cmake",
        "/usr/bin/ctest -S x.cmake",
        "/usr/bin/ninja",
        "/usr/bin/emacs-nox --scr x.el",
        "/usr/bin/emacs-nox --batch --lo=./x.el",
        "/usr/bin/sqlite3 --init x.sql db",
        "/usr/bin/jq -nf x.jq",
        "/usr/bin/troff -U x.tr",
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let found = of_exec(&json!({}), &[(words[0], &words, Role::Program)]);
        assert!(texts_of(&found).is_err(), "{line}: {found:?}");
    }
}

const REPLACEABLE: &str = "the tree may write its file, so it could replace the program";

/// A rule for `x` would be for whatever the tree puts there later, also where an entry names the program.
#[test]
fn no_x_is_saved_for_a_program_that_the_tree_may_write() {
    let policy = compile(&json!({"version": 1, "permissions": {"base": false, "filesystem": {
        "rules": {"/tree/**": "rw?", "/fixed/**": "r-?", "/asked/**": "???"}}},
        "agents": {"main": {"allowlist": [{"pattern": "/tree/*"}, {"pattern": "/fixed/*"}, {"pattern": "/asked/*"}]}}}));
    let saved = |path: &str| {
        let argv = argv(&[path]);
        let exec = Exec { path: path.as_bytes(), argv: &argv, cwd: b"/w", role: Role::Program };
        texts_of(&always(&policy, &[Request::Exec(exec)], &|_: &[u8]| OnDisk::File)).map_err(str::to_owned)
    };
    assert_eq!(saved("/tree/x"), Err(REPLACEABLE.to_owned()));
    assert_eq!(saved("/fixed/x"), saves(&["\"/fixed/x\" x"], &[]).map_err(str::to_owned));
    // Where the tree may write after asking, a start takes the right to read.
    assert_eq!(saved("/asked/x"), saves(&["\"/asked/x\" rx"], &[]).map_err(str::to_owned));
}

/// An answer in memory lets the tree write where the policy only asks.
#[test]
fn nothing_is_saved_beside_an_answer_that_lets_the_tree_write_the_program() {
    struct World(&'static [u8]);
    impl AlwaysContext for World {
        fn on_disk(&self, _: &[u8]) -> OnDisk {
            OnDisk::File
        }

        fn leads_through(&self, _: &[u8]) -> Vec<Vec<u8>> {
            Vec::new()
        }

        fn is_let_write(&self, path: &[u8]) -> bool {
            path.starts_with(self.0)
        }
    }
    let policy = compile(&json!({"version": 1, "permissions": {"base": false, "filesystem": {
        "rules": {"/opt/**": "r?x", "/usr/**": "r-x", "/data/**": "r?-"}}}}));
    let saved = |line: &[&str], writable: &'static [u8]| {
        let argv = argv(line);
        let exec = Exec { path: line[0].as_bytes(), argv: &argv, cwd: b"/w", role: Role::Program };
        texts_of(&always(&policy, &[Request::Exec(exec)], &World(writable)))
            .map(|_| ())
            .map_err(str::to_owned)
    };
    assert_eq!(saved(&["/opt/x"], b"/other/"), Ok(()));
    assert_eq!(saved(&["/opt/x"], b"/opt/"), Err(REPLACEABLE.to_owned()));
    assert_eq!(saved(&["/usr/bin/tool", "/data/x"], b"/other/"), Ok(()));
    let may_run = "the tree may write a file among its arguments, which may be a program to it";
    assert_eq!(saved(&["/usr/bin/tool", "/data/x"], b"/data/"), Err(may_run.to_owned()));
}

/// Who has the other end of a terminal types there, which need not be a human.
#[test]
fn a_terminal_that_an_argument_names_is_code() {
    let saved = |kind| {
        let found = of_exec(&json!({}), &[("/opt/tool", &["tool"], Role::Program)]).with_inputs([kind]);
        texts_of(&found).is_ok()
    };
    assert!(saved(InputKind::Terminal));
    assert!(!saved(InputKind::NamedTerminal) && !saved(InputKind::MoreFiles));
    let strict = policy(&json!({ "strictInlineEval": true }));
    for (line, cwd, is_asked) in [
        (&["/opt/python3", "/dev/pts/5"][..], "/w", Repeat::AskedEachTime),
        (&["/opt/python3", "5"], "/dev/pts", Repeat::AskedEachTime),
        (&["/opt/python3", "-u", "/w/../dev/tty"], "/w", Repeat::AskedEachTime),
        (&["/opt/python3", "x.py", "/dev/pts/5"], "/w", Repeat::Allowed),
        (&["/opt/python3", "x.py"], "/w", Repeat::Allowed),
    ] {
        let argv = argv(line);
        let exec = Exec { path: b"/opt/python3", argv: &argv, cwd: cwd.as_bytes(), role: Role::Program };
        assert_eq!(strict.repeats(&Request::Exec(exec)), is_asked, "{line:?}");
    }
}
