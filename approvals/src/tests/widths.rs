//! Answers for files that reach beyond equal calls.

use std::num::NonZeroU16;

use guard_policy::Bits;
use guard_policy::approval::{FileRule, PatternError};
use tokio::time::advance;

use super::*;
use crate::asked_host::{AskedHost, HostProtocol};
use crate::decision::{OperatorAnswer, Span};
use crate::file_grants::{AskedFile, MAX_FILE_GRANTS};
use crate::question::{AskedDirectory, Process, Reach, WhichDirectory};

const COMMAND: Decision = Decision::AllowFor(GrantWidth::Directory, Span::Command);
const SESSION: Decision = Decision::AllowFor(GrantWidth::Directory, Span::Session);
const THIS_SESSION: Decision = Decision::AllowFor(GrantWidth::Narrow, Span::Session);

fn minutes(number: u16) -> Span {
    Span::Minutes(NonZeroU16::new(number).unwrap())
}

fn process(pid: i32, started: u64) -> Process {
    Process { pid, started, name: "x".to_owned() }
}

/// A directory; its inode stands for its identity.
fn directory(path: &str, inode: u64) -> AskedDirectory {
    AskedDirectory {
        path: path.as_bytes().to_vec(),
        which: WhichDirectory::There { device: 1, inode, born_ms: Some(inode), is_made: false },
    }
}

/// `vim 30 < bash 20 < bash 10` opens a file of `/d`.
fn used(path: &str, access: Access) -> Question {
    Question {
        subject: Subject::File { path: path.as_bytes().to_vec(), access, call: "open", change: None },
        asked_by: vec![process(30, 3), process(20, 2), process(10, 1)],
        reach: Some(Reach {
            directory: Some(directory("/d", 7)),
            inside: vec![directory("/d", 7)],
            command: Some(process(20, 2)),
        }),
        ..file(path)
    }
}

/// The same question from other processes, the caller first.
fn by(question: Question, asked_by: &[(i32, u64)]) -> Question {
    let asked_by: Vec<Process> = asked_by.iter().map(|(pid, started)| process(*pid, *started)).collect();
    let command = asked_by.iter().rev().nth(1).or(asked_by.first()).cloned();
    let reach = question.reach.clone().map(|reach| Reach { command, ..reach });
    Question { asked_by, reach, ..question }
}

fn inside(question: Question, inside: Vec<AskedDirectory>) -> Question {
    let reach = question.reach.clone().map(|reach| Reach { inside, ..reach });
    Question { reach, ..question }
}

fn granted(manager: &Manager, question: &Question) -> bool {
    matches!(ask(manager, question), AskOutcome::Granted(_))
}

/// Returns a manager that has given `question` this answer.
fn after(decision: Decision, question: &Question) -> Manager {
    let (manager, _) = started(settings());
    let ticket = waiting(&manager, question);
    assert_eq!(answer(&manager, &ticket, decision), Ok(1));
    manager
}

#[tokio::test(start_paused = true)]
async fn a_directory_is_for_its_files_and_the_access_that_was_asked() {
    let manager = after(COMMAND, &used("/d/a", Access::READ));
    let deep = vec![directory("/d", 7), directory("/d/e", 8)];
    let later = WhichDirectory::There { device: 1, inode: 7, born_ms: Some(8), is_made: false };
    let later = AskedDirectory { path: b"/d".to_vec(), which: later };
    for yes in ["/d/a", "/d/b"].map(|path| used(path, Access::READ)) {
        assert!(granted(&manager, &yes));
    }
    assert!(granted(&manager, &inside(used("/d/e/f", Access::READ), deep)));
    for no in [
        used("/d/a", Access::WRITE),
        used("/d/a", Access::READ | Access::WRITE),
        used("/d/a", Access::MAP),
        // A directory with the same path may be another one, and so may one with the same inode, here or there.
        inside(used("/d/a", Access::READ), vec![later]),
        inside(used("/d/a", Access::READ), vec![directory("/d", 9)]),
        inside(used("/e/a", Access::READ), vec![directory("/e", 7)]),
        inside(used("/dd", Access::READ), Vec::new()),
        Question { reason: reason("another rule"), ..used("/d/a", Access::READ) },
        Question { agent: "other".to_owned(), ..used("/d/a", Access::READ) },
        Question { session: "other".to_owned(), ..used("/d/a", Access::READ) },
        Question { reach: None, ..used("/d/c", Access::READ) },
        question(&["/d/a"]),
    ] {
        assert!(!granted(&manager, &no), "{no:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn read_and_write_are_granted_together_or_by_two_answers() {
    let both = Access::READ | Access::WRITE;
    let manager = after(COMMAND, &used("/d/a", both));
    for access in [Access::READ, Access::WRITE, both] {
        assert!(granted(&manager, &used("/d/b", access)));
    }
    let manager = after(COMMAND, &used("/d/a", Access::READ));
    let ticket = waiting(&manager, &used("/d/a", Access::WRITE));
    assert_eq!(answer(&manager, &ticket, COMMAND), Ok(1));
    assert!(granted(&manager, &used("/d/b", both)));
}

#[tokio::test(start_paused = true)]
async fn a_command_is_the_process_that_was_shown_and_those_below_it() {
    let manager = after(COMMAND, &used("/d/a", Access::READ));
    let read = || used("/d/b", Access::READ);
    for yes in [&[(20, 2), (10, 1)][..], &[(41, 9), (40, 8), (20, 2), (10, 1)]] {
        assert!(granted(&manager, &by(read(), yes)), "{yes:?}");
    }
    for no in [
        // The session's shell, another command, one with the same process id, and an orphan.
        &[(10, 1)][..],
        &[(21, 2), (10, 1)],
        &[(30, 3), (20, 5), (10, 1)],
        &[(30, 3)],
    ] {
        assert!(!granted(&manager, &by(read(), no)), "{no:?}");
    }
    // Processes above the caller that are not known for certain.
    let uncertain = read();
    let reach = uncertain.reach.clone().map(|reach| Reach { command: None, ..reach });
    assert!(!granted(&manager, &Question { reach, ..uncertain }));
}

#[tokio::test(start_paused = true)]
async fn an_answer_for_the_session_is_for_every_command() {
    let manager = after(SESSION, &used("/d/a", Access::READ));
    assert!(granted(&manager, &by(used("/d/b", Access::READ), &[(50, 9), (10, 1)])));
    let manager = after(THIS_SESSION, &used("/d/a", Access::READ));
    assert!(granted(&manager, &by(used("/d/a", Access::READ), &[(50, 9), (10, 1)])));
    assert!(!granted(&manager, &used("/d/b", Access::READ)));
    // The answer also covers another system call that writes the same file.
    let manager = after(THIS_SESSION, &used("/d/a", Access::WRITE));
    let subject =
        Subject::File { path: b"/d/a".to_vec(), access: Access::WRITE, call: "unlink", change: None };
    assert!(granted(&manager, &Question { subject, ..used("/d/a", Access::WRITE) }));
}

#[tokio::test(start_paused = true)]
async fn minutes_end() {
    let manager = after(Decision::AllowFor(GrantWidth::Directory, minutes(30)), &used("/d/a", Access::READ));
    advance(Duration::from_secs(30 * 60 - 1)).await;
    assert!(granted(&manager, &used("/d/b", Access::READ)));
    advance(Duration::from_secs(1)).await;
    assert!(!granted(&manager, &used("/d/b", Access::READ)));
}

#[tokio::test(start_paused = true)]
async fn a_denial_for_longer_is_silent_and_stronger() {
    let deny = Decision::DenyFor(GrantWidth::Directory, Span::Command);
    let manager = after(deny, &used("/d/a", Access::READ));
    assert_eq!(refusal(&manager, &used("/d/b", Access::READ)), Refusal::Denied(deny));
    assert_eq!(refusal(&manager, &used("/d/b", Access::READ | Access::WRITE)), Refusal::Denied(deny));
    let _other_access = waiting(&manager, &used("/d/c", Access::WRITE));
    // A later answer allows the directory to another command.
    let other = by(used("/d/b", Access::READ), &[(50, 9), (10, 1)]);
    let ticket = waiting(&manager, &other);
    assert_eq!(answer(&manager, &ticket, SESSION), Ok(1));
    assert!(granted(&manager, &other));
    assert_eq!(refusal(&manager, &used("/d/b", Access::READ)), Refusal::Denied(deny));
}

#[tokio::test(start_paused = true)]
async fn only_what_the_question_offers_can_be_answered() {
    let (manager, _) = started(settings());
    let bare = Question { reach: Some(Reach::default()), ..used("/home/u/a", Access::READ) };
    let ticket = waiting(&manager, &bare);
    for decision in [COMMAND, SESSION, Decision::AllowFor(GrantWidth::Narrow, Span::Command)] {
        assert_eq!(answer(&manager, &ticket, decision), Err(ResolveError::NotOffered(decision)));
    }
    let program = waiting(&manager, &question(&["/bin/a"]));
    for decision in [COMMAND, SESSION, Decision::DenyFor(GrantWidth::Narrow, Span::Session)] {
        assert_eq!(answer(&manager, &program, decision), Err(ResolveError::NotOffered(decision)));
    }
    assert_eq!(answer(&manager, &ticket, THIS_SESSION), Ok(1));
}

#[tokio::test(start_paused = true)]
async fn what_one_command_does_in_a_directory_is_one_card_that_grows() {
    let (manager, _) = started(settings());
    let first = waiting(&manager, &used("/d/a", Access::READ));
    let shown = manager.snapshot()[0].card.revision;
    let _late = waiting(&manager, &by(used("/d/b", Access::WRITE), &[(31, 4), (20, 2), (10, 1)]));
    let _other = waiting(&manager, &by(used("/d/c", Access::READ), &[(50, 9), (10, 1)]));
    let cards: Vec<usize> = manager.snapshot().iter().map(|card| card.requests.len()).collect();
    assert_eq!(cards, [2, 1]);
    // What came after the card was drawn is asked about again.
    let resolved = manager.resolve(&first.call().to_string(), Some(shown), ONCE, Route::Terminal).unwrap();
    assert_eq!(resolved.answered, [first.call()]);
    assert_eq!(manager.snapshot().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_wide_answer_ends_the_questions_that_it_is_for() {
    let (manager, _) = started(settings());
    let first = waiting(&manager, &used("/d/a", Access::READ));
    let shown = manager.snapshot()[0].card.revision;
    let covered = waiting(&manager, &used("/d/b", Access::READ));
    let _written = waiting(&manager, &used("/d/c", Access::WRITE));
    let _other = waiting(&manager, &by(used("/d/d", Access::READ), &[(50, 9), (10, 1)]));
    let resolved = manager.resolve(&first.call().to_string(), Some(shown), COMMAND, Route::Terminal).unwrap();
    assert_eq!(resolved.answered, [first.call(), covered.call()]);
    assert!(manager.consume(covered.call()));
    assert_eq!(manager.snapshot().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_file_gains_nothing_by_another_name() {
    let manager = after(SESSION, &used("/d/a", Access::READ));
    let rule = used("/d/a", Access::READ).rule();
    let (there, elsewhere) = ([directory("/d", 7)], [directory("/e", 9)]);
    let new = AskedFile { path: b"/d/n", inside: &there, rule: &rule };
    let old = AskedFile { path: b"/e/s", inside: &elsewhere, rule: &rule };
    assert!(!manager.lets_move(Access::READ, Some(old), new));
    assert!(!manager.lets_move(Access::READ, None, new));
    assert!(manager.lets_move(Access::READ, Some(AskedFile { path: b"/d/o", ..new }), new));
    assert!(!manager.lets_move(Access::READ, Some(AskedFile { path: b"/d/o", rule: "other", ..new }), new));
    assert!(manager.lets_move(Access::WRITE, Some(old), new));
    assert!(manager.lets_move(Access::READ, Some(old), old));
    // An answer for one file ends when another one takes its name.
    let manager = after(THIS_SESSION, &used("/d/a", Access::READ));
    let new = AskedFile { path: b"/d/a", ..new };
    assert!(granted(&manager, &used("/d/a", Access::READ)));
    assert!(manager.lets_move(Access::READ, Some(old), new));
    assert!(!granted(&manager, &used("/d/a", Access::READ)));
}

#[tokio::test(start_paused = true)]
async fn no_answer_is_taken_for_a_file_that_is_moved() {
    for moved in [&b"/d/a"[..], b"/d"] {
        let (manager, _) = started(settings());
        let asked = waiting(&manager, &used("/d/a", Access::READ));
        let other = waiting(&manager, &used("/e/b", Access::READ));
        assert!(!manager.moving(&[b"/d/aa", b"/d/a/b"]));
        assert!(manager.moving(&[b"/f", moved]));
        for decision in [ONCE, THIS_SESSION, Decision::Deny] {
            assert_eq!(answer(&manager, &asked, decision), Err(ResolveError::Withdrawn));
        }
        // A later answer for the whole session would also be for the moved file, but does not allow it.
        assert_eq!(answer(&manager, &other, SESSION), Ok(1));
        manager.moved();
        assert!(manager.snapshot().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_comes_under_an_always_that_is_not_in_force_yet() {
    let rule = |path: &str, pattern: &str, call| {
        let subject =
            Subject::File { path: path.as_bytes().to_vec(), access: Access::READ, call, change: None };
        let rule = FileRule { pattern: pattern.to_owned(), bits: Bits::R };
        Question { always: saves(vec![Saving::Rule(rule)]), subject, ..used(path, Access::READ) }
    };
    let manager = after(ALWAYS, &rule("/d/a", "/d/a", "open"));
    let is_clear = |old: &str, new: &str| manager.is_clear_of_fresh_rules(old.as_bytes(), new.as_bytes());
    assert!(!is_clear("/e/s", "/d/a") && !is_clear("/e", "/d"));
    assert!(is_clear("/e/s", "/d/b") && is_clear("/d/a", "/e/a") && is_clear("/e", "/d/a/b"));
    advance(Duration::from_secs(6)).await;
    assert!(is_clear("/e/s", "/d/a"));
    let manager = after(ALWAYS, &rule("/d/a", "/d/**", "open"));
    assert!(!manager.is_clear_of_fresh_rules(b"/e/s", b"/d/b"));
    assert!(manager.is_clear_of_fresh_rules(b"/d/s", b"/d/b"));
    // The call that was asked about is repeated.
    let manager = after(ALWAYS, &rule("/d/a", "/d/a", "rename"));
    assert!(manager.is_clear_of_fresh_rules(b"/e/s", b"/d/a"));
}

#[tokio::test(start_paused = true)]
async fn a_new_directory_is_what_the_tree_makes_of_it() {
    let made = |is_made| {
        let which = WhichDirectory::There { device: 1, inode: 8, born_ms: None, is_made };
        vec![directory("/d", 7), AskedDirectory { path: b"/d/new".to_vec(), which }]
    };
    let asked = used("/d/new", Access::WRITE);
    let new = AskedDirectory { path: b"/d/new".to_vec(), which: WhichDirectory::New };
    let reach = asked.reach.clone().map(|reach| Reach { directory: Some(new), ..reach });
    let manager = after(COMMAND, &Question { reach, ..asked });
    assert!(granted(&manager, &inside(used("/d/new/a", Access::WRITE), made(true))));
    assert!(!granted(&manager, &inside(used("/d/new/a", Access::WRITE), made(false))));
    assert!(!granted(&manager, &used("/d/a", Access::WRITE)));
}

#[tokio::test(start_paused = true)]
async fn another_policy_takes_answers_back() {
    let manager = after(SESSION, &used("/d/a", Access::READ));
    let rule = used("/d/a", Access::READ).rule();
    manager.keep_file_grants(|path, _| (path == b"/d/a").then(|| rule.clone()));
    assert!(granted(&manager, &used("/d/b", Access::READ)));
    manager.keep_file_grants(|_, _| Some("another rule".to_owned()));
    assert!(!granted(&manager, &used("/d/b", Access::READ)));
}

#[tokio::test(start_paused = true)]
async fn kept_answers_are_bounded() {
    let (manager, _) = started(settings());
    for n in 0..MAX_FILE_GRANTS + 10 {
        let ticket = waiting(&manager, &used(&format!("/d/{n}"), Access::READ));
        assert_eq!(answer(&manager, &ticket, THIS_SESSION), Ok(1));
    }
    assert!(manager.held()[4] <= MAX_FILE_GRANTS);
    assert!(!granted(&manager, &used("/d/0", Access::READ)));
    assert!(granted(&manager, &used("/d/99", Access::READ)));
    // The guard's end removes all answers.
    manager.close("the end");
    assert_eq!(manager.held()[4], 0);
}

#[test]
fn every_answer_has_a_word() {
    let all: Vec<Decision> = Decision::all().collect();
    for decision in &all {
        assert_eq!(decision.to_string().parse(), Ok(*decision));
    }
    assert_eq!(all.len(), 16);
    for word in
        ["allow-directory", "allow-directory-0m", "deny-once", "deny-always", "deny-directory-", "allow--30m"]
    {
        assert!(word.parse::<Decision>().is_err(), "{word}");
    }
}

/// A host below `example.org` that curl wants to reach.
fn reached(name: &str, by: HostProtocol) -> Question {
    let reach = Reach { command: Some(process(20, 2)), ..Reach::default() };
    let asked = AskedHost {
        authority: name.to_owned(),
        by,
        addresses: Vec::new(),
        domain: Some("*.example.org".to_owned()),
    };
    Question { subject: Subject::Host(asked), reach: Some(reach), ..host(name) }
}

fn tls(name: &str) -> Question {
    reached(name, HostProtocol::Tls)
}

#[tokio::test(start_paused = true)]
async fn a_domain_is_for_the_hosts_below_it() {
    let manager = after(SESSION, &tls("a.example.org:443"));
    assert!(granted(&manager, &tls("b.example.org:443")));
    let other_domain = {
        let mut other = tls("a.example.net:443");
        let Subject::Host(host) = &mut other.subject else { unreachable!() };
        host.domain = Some("*.example.net".to_owned());
        other
    };
    let at_address = {
        let mut at_address = tls("b.example.org:443");
        let Subject::Host(host) = &mut at_address.subject else { unreachable!() };
        (host.domain, host.addresses) = (None, vec!["10.0.0.1".parse().unwrap()]);
        at_address
    };
    for no in [
        tls("b.example.org:8443"),
        reached("b.example.org:443", HostProtocol::Http(String::new())),
        other_domain,
        at_address,
        Question { agent: "other".to_owned(), ..tls("b.example.org:443") },
        Question { reason: reason("another rule"), ..tls("b.example.org:443") },
        Question { repeat: Repeat::AskedEachTime, ..tls("b.example.org:443") },
    ] {
        assert!(!granted(&manager, &no), "{no:?}");
    }
    let posts = after(SESSION, &reached("a.example.org:80", HostProtocol::Http("GET".to_owned())));
    assert!(!granted(&posts, &reached("b.example.org:80", HostProtocol::Http("POST".to_owned()))));
}

#[tokio::test(start_paused = true)]
async fn a_domain_is_denied_for_its_time() {
    let manager = after(Decision::DenyFor(GrantWidth::Directory, minutes(1)), &tls("a.example.org:443"));
    let denied = |manager: &Manager| {
        matches!(ask(manager, &tls("b.example.org:443")), AskOutcome::Refused(Refusal::Denied(_)))
    };
    assert!(denied(&manager));
    advance(Duration::from_secs(61)).await;
    assert!(!denied(&manager));
}

#[tokio::test(start_paused = true)]
async fn the_hosts_of_one_command_share_a_card() {
    let (manager, _) = started(settings());
    let first = waiting(&manager, &tls("a.example.org:443"));
    let _second = waiting(&manager, &tls("b.example.org:443"));
    let mut elsewhere = tls("c.example.org:443");
    elsewhere.reach = Some(Reach { command: Some(process(30, 3)), ..Reach::default() });
    let _third = waiting(&manager, &elsewhere);
    let sizes: Vec<_> = manager.snapshot().iter().map(|card| card.requests.len()).collect();
    assert_eq!(sizes, [2, 1]);
    // An answer for the domain ends the other questions, too.
    assert_eq!(answer(&manager, &first, SESSION), Ok(3));
}

#[tokio::test(start_paused = true)]
async fn an_edited_pattern_is_saved_for_every_call_of_the_card() {
    let (manager, _) = started(settings());
    let saving = |path: &str| Question {
        always: saves(vec![Saving::Rule(FileRule { pattern: path.to_owned(), bits: Bits::R })]),
        edited_below: Some("/d".to_owned()),
        ..used(path, Access::READ)
    };
    let first = waiting(&manager, &saving("/d/a.txt"));
    let _second = waiting(&manager, &saving("/d/b.txt"));
    let card = manager.snapshot().remove(0).card;
    let resolve = |pattern| {
        let answer = OperatorAnswer { decision: ALWAYS, pattern: Some(pattern) };
        manager.resolve(&first.call().to_string(), Some(card.revision), answer, Route::Cli)
    };
    // The pattern does not match the second question, so neither is answered.
    let refused = resolve("/d/a*");
    assert!(matches!(refused, Err(ResolveError::Pattern(PatternError::Misses(_)))), "{refused:?}");
    let resolved = resolve("/d/*.txt").unwrap();
    let rule = FileRule { pattern: "/d/*.txt".to_owned(), bits: Bits::R };
    assert_eq!((resolved.answered.len(), resolved.saves.len()), (2, 1));
    assert_eq!(resolved.saves[0].saving, Saving::Rule(rule));
}

#[test]
fn hosts_have_no_answer_for_a_command() {
    let offered: Vec<_> =
        crate::outcome::answers(&tls("a.example.org:443")).map(|one| one.to_string()).collect();
    assert_eq!(
        offered,
        [
            "allow-once",
            "allow-session",
            "allow-30m",
            "allow-directory-session",
            "allow-directory-30m",
            "deny",
            "deny-directory-session",
            "deny-directory-30m"
        ]
    );
}
