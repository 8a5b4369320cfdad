//! The manager's guarantees, one by one.

use std::num::NonZeroU16;
use std::time::Duration;

use guard_policy::Bits;
use guard_policy::analysis::InputKind;
use guard_policy::approval::{FileRule, Route};
use tokio::time::{Instant, advance, sleep, timeout};

use super::super::asked_host::{AskedHost, HostProtocol};
use super::super::binding::Binding;
use super::super::code_input::{CodeInput, InputSource};
use super::super::decision::Span;
use super::super::outcome::answers;
use super::super::pending::BURST_INTERVAL;
use super::super::question::BoundScript;
use super::super::resolved::GRACE_INTERVAL;
use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_yes_lets_the_call_go_on_once() {
    let (manager, log) = started(settings());
    let ticket = waiting(&manager, &question(&["/bin/a", "x"]));
    let call = ticket.call();
    assert!(!manager.consume(call), "nobody has answered");
    assert_eq!(answer(&manager, &ticket, ONCE), Ok(1));
    assert_eq!(ticket.ended().await, YES);
    assert!(manager.consume(call));
    assert!(!manager.consume(call), "a yes is used once");
    // The next call is asked again.
    let next = waiting(&manager, &question(&["/bin/a", "x"]));
    assert_ne!(next.call(), call);
    let whats = log.whats();
    assert!(
        matches!(
            whats[..],
            [
                QuestionChange::Requested { .. },
                QuestionChange::Resolved { .. },
                QuestionChange::Consumed,
                QuestionChange::Requested { .. }
            ]
        ),
        "{whats:?}"
    );
    let numbers: Vec<u64> = log.events().iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn nobody_answers() {
    let (manager, log) = started(settings());
    let begin = Instant::now();
    let ticket = waiting(&manager, &question(&["/bin/a"]));
    let call = ticket.call();
    assert_eq!(ticket.ended().await, Resolution::Expired);
    assert_eq!(begin.elapsed().as_secs(), TIMEOUT.as_secs());
    assert!(!manager.consume(call));
    assert_eq!(log.whats().last(), Some(&QuestionChange::Expired));
    assert_eq!(manager.resolve(&call.to_string(), None, ONCE, Route::Cli), Err(ResolveError::Expired));
    assert_eq!(manager.resolve(&call.to_string(), None, DENY, Route::Cli), Err(ResolveError::Expired));
    assert!(!manager.consume(call));
}

#[tokio::test(start_paused = true)]
async fn what_nobody_answered_is_not_asked_again_at_once() {
    let (manager, log) = started(settings());
    let asked = question(&["/bin/a"]);
    assert_eq!(waiting(&manager, &asked).ended().await, Resolution::Expired);
    let before = log.whats().len();
    let again = ask(&manager, &asked);
    assert!(matches!(again, AskOutcome::Ended(Resolution::Expired)), "{again:?}");
    assert_eq!(log.whats().len(), before, "nobody sees a question");
    let _other = waiting(&manager, &question(&["/bin/b"]));
    sleep(BURST_INTERVAL).await;
    let _later = waiting(&manager, &asked);
}

#[tokio::test(start_paused = true)]
async fn the_time_is_that_of_the_settings_and_no_time_overflows() {
    let (manager, _) = started(Settings { timeout: Duration::from_millis(u64::MAX), ..settings() });
    let request = request(&manager, &question(&["/bin/a"]));
    assert_eq!(request.expires_ms - request.created_ms, 365 * 24 * 60 * 60 * 1000);
    manager.configure(Settings { timeout: SECOND, ..settings() });
    let begin = Instant::now();
    assert_eq!(waiting(&manager, &question(&["/bin/b"])).ended().await, Resolution::Expired);
    assert_eq!(begin.elapsed().as_secs(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_shorter_timeout_wakes_the_expiry_loop() {
    let (manager, _) = started(settings());
    // By now the expiry loop sleeps with no deadline.
    sleep(SECOND).await;
    let begin = Instant::now();
    let long = tokio::spawn(waiting(&manager, &question(&["/bin/a"])).ended());
    sleep(SECOND).await;
    manager.configure(Settings { timeout: SECOND, ..settings() });
    // If the expiry loop is not woken, no time passes and this would wait for ever.
    let short = timeout(2 * TIMEOUT, waiting(&manager, &question(&["/bin/b"])).ended());
    assert_eq!(short.await, Ok(Resolution::Expired));
    assert_eq!(begin.elapsed().as_secs(), 2);
    assert_eq!(long.await.unwrap(), Resolution::Expired);
    assert_eq!(begin.elapsed().as_secs(), TIMEOUT.as_secs());
}

#[tokio::test(start_paused = true)]
async fn an_ended_question_stays_known_for_a_while() {
    let (manager, _) = started(settings());
    let ticket = waiting(&manager, &question(&["/bin/a"]));
    let id = ticket.call().to_string();
    assert_eq!(answer(&manager, &ticket, DENY), Ok(1));
    assert_eq!(answer(&manager, &ticket, DENY), Ok(0), "the same again is fine");
    for other in [ONCE, ALWAYS, Decision::AllowFor(GrantWidth::Narrow, Span::Session)] {
        let error = answer(&manager, &ticket, other).unwrap_err();
        assert_eq!(error.to_string(), "approval already resolved");
    }
    let call = ticket.call();
    assert_eq!(ticket.ended().await, NO);
    assert!(!manager.consume(call));
    advance(GRACE_INTERVAL - Duration::from_millis(1)).await;
    assert_eq!(manager.resolve(&id, None, ONCE, Route::Cli), Err(ResolveError::AlreadyResolved));
    advance(Duration::from_millis(1)).await;
    assert_eq!(manager.resolve(&id, None, DENY, Route::Cli), Err(ResolveError::Unknown));
    assert_empty(&manager);
}

#[tokio::test(start_paused = true)]
async fn a_yes_that_is_not_used_in_time_is_none() {
    let (manager, _) = started(settings());
    let ticket = waiting(&manager, &question(&["/bin/a"]));
    let call = ticket.call();
    assert_eq!(answer(&manager, &ticket, ONCE), Ok(1));
    assert_eq!(ticket.ended().await, YES);
    advance(GRACE_INTERVAL).await;
    assert!(!manager.consume(call));
}

#[tokio::test(start_paused = true)]
async fn equal_calls_share_an_answer_and_each_goes_once() {
    let (manager, log) = started(settings());
    let first = waiting(&manager, &question(&["/bin/a", "x"]));
    let second = waiting(&manager, &question(&["/bin/a", "x"]));
    assert_eq!(manager.snapshot().len(), 1);
    assert_eq!(manager.snapshot()[0].requests[0].1, 2, "two calls wait");
    assert_eq!(answer(&manager, &first, ONCE), Ok(1));
    let calls = [first.call(), second.call()];
    assert_eq!((first.ended().await, second.ended().await), (YES, YES));
    for call in calls {
        assert!(manager.consume(call));
        assert!(!manager.consume(call));
    }
    assert!(log.whats().contains(&QuestionChange::Joined { call: calls[1] }));
    let _third = waiting(&manager, &question(&["/bin/a", "x"]));
}

#[tokio::test(start_paused = true)]
async fn registering_again_is_the_same_call() {
    let (manager, _) = started(settings());
    let request = request(&manager, &question(&["/bin/a"]));
    let (AskOutcome::Waiting(one), AskOutcome::Waiting(two)) =
        (manager.register(&request), manager.register(&request))
    else {
        panic!("both wait");
    };
    assert_eq!(manager.snapshot()[0].requests[0].1, 1);
    drop(one);
    assert_eq!(answer(&manager, &two, ONCE), Ok(1));
    assert_eq!(two.ended().await, YES);
    assert!(manager.consume(request.id));
    assert!(matches!(manager.register(&request), AskOutcome::Ended(YES)));
    assert!(!manager.consume(request.id), "registering again is no second yes");
    // A different question with the same id does not get this answer.
    let mut other = (*request).clone();
    other.question = question(&["/bin/b"]);
    assert!(matches!(manager.register(&Arc::new(other.clone())), AskOutcome::Refused(Refusal::Broken(_))));
    let AskOutcome::Waiting(_ticket) = manager.register(&Arc::new(manager.create(question(&["/bin/c"]))))
    else {
        panic!("waits");
    };
    other.id = _ticket.call();
    assert!(matches!(manager.register(&Arc::new(other)), AskOutcome::Refused(Refusal::Broken(_))));
}

#[tokio::test(start_paused = true)]
async fn any_difference_makes_another_question() {
    let base = question(&["/bin/a", "x", "y"]);
    let exec = |change: fn(&mut Exec)| {
        let mut question = base.clone();
        let Subject::Exec(exec) = &mut question.subject else { unreachable!() };
        change(exec);
        question
    };
    let others = [
        question(&["/bin/a", "x y"]),
        question(&["/bin/a", "xy", ""]),
        question(&["/bin/a", "x", "y", ""]),
        Question { agent: "other".to_owned(), ..base.clone() },
        Question { session: "t".to_owned(), ..base.clone() },
        exec(|exec| exec.cwd = b"/".to_vec()),
        exec(|exec| exec.environment = Digest::of_environment([&b"A=2"[..]])),
        exec(|exec| exec.executable.path = b"/bin/b".to_vec()),
        exec(|exec| exec.executable.device += 1),
        exec(|exec| exec.executable.inode += 1),
        exec(|exec| exec.executable.sha256 = Digest([0; 32])),
        exec(|exec| exec.script = Some(BoundScript { path: b"/s".to_vec(), sha256: Digest([1; 32]) })),
        exec(|exec| exec.script = Some(BoundScript { path: b"/s".to_vec(), sha256: Digest([2; 32]) })),
        exec(|exec| exec.through = vec![BoundScript { path: b"/i".to_vec(), sha256: Digest([1; 32]) }]),
        exec(|exec| exec.through = vec![BoundScript { path: b"/i".to_vec(), sha256: Digest([2; 32]) }]),
        file("/a"),
        file("/b"),
        Question {
            subject: Subject::File {
                path: b"/a".to_vec(),
                access: Access::READ | Access::MAP,
                call: "open",
                change: None,
            },
            ..file("/a")
        },
        Question {
            subject: Subject::File {
                path: b"/a".to_vec(),
                access: Access::WRITE | Access::MAP,
                call: "open",
                change: None,
            },
            ..file("/a")
        },
        host("a.test:443"),
        host("a.test:444"),
        host_with(|host| host.by = HostProtocol::Http(String::new())),
        host_with(|host| host.by = HostProtocol::Http("GET".to_owned())),
        host_with(|host| host.by = HostProtocol::Http("POST".to_owned())),
        host_with(|host| host.by = HostProtocol::Tcp),
        host_with(|host| host.by = HostProtocol::Udp),
        host_with(|host| host.addresses = vec!["10.0.0.1".parse().unwrap()]),
        host_with(|host| host.addresses = vec!["10.0.0.2".parse().unwrap()]),
    ];
    let (manager, _) = started(Settings { max_pending: 64, ..settings() });
    let granted = waiting(&manager, &base);
    assert_eq!(answer(&manager, &granted, Decision::AllowFor(GrantWidth::Narrow, Span::Session)), Ok(1));
    let tickets: Vec<_> = others.iter().map(|other| waiting(&manager, other)).collect();
    let ids: std::collections::BTreeSet<_> = manager
        .snapshot()
        .iter()
        .flat_map(|listing| listing.requests.iter().map(|(request, _)| request.id).collect::<Vec<_>>())
        .collect();
    assert_eq!(ids.len(), others.len(), "each of them is asked for by itself");
    // An answer to one question does not answer another.
    assert_eq!(answer(&manager, &tickets[0], ONCE), Ok(1));
    assert!(tickets[1..].iter().all(|ticket| !manager.consume(ticket.call())));
    assert!(matches!(ask(&manager, &base), AskOutcome::Granted(_)));
}

fn host_with(change: impl FnOnce(&mut AskedHost)) -> Question {
    let mut question = host("a.test:443");
    let Subject::Host(host) = &mut question.subject else { unreachable!() };
    change(host);
    question
}

/// A question about a host offers only the answers that hold for equal requests. No answer saves anything, and no
/// denial has a time.
#[test]
fn a_host_takes_few_answers() {
    let all: Vec<_> = answers(&host("a.test:443")).map(|decision| decision.to_string()).collect();
    assert_eq!(all, ["allow-once", "allow-session", "allow-30m", "deny"]);
}

#[test]
fn a_different_input_makes_another_call() {
    let of = |path: Option<&[u8]>| {
        let mut question = question(&["/bin/a", "-"]);
        let Subject::Exec(exec) = &mut question.subject else { unreachable!() };
        let (source, kind) = (InputSource::StandardInput, InputKind::Pipe);
        exec.inputs = path
            .into_iter()
            .map(|path| CodeInput { source: source.clone(), kind, path: path.to_vec(), sha256: None })
            .collect();
        let binding = Binding::from_question(&question);
        (binding.digest(), binding)
    };
    let all = [of(None), of(Some(b"pipe:[1]")), of(Some(b"pipe:[2]"))];
    for (at, one) in all.iter().enumerate() {
        assert!(all[..at].iter().all(|other| other.0 != one.0 && other.1 != one.1));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_of_one_program_are_one_card() {
    let (manager, _) = started(settings());
    let one = waiting(&manager, &question(&["/bin/a", "1"]));
    let two = waiting(&manager, &question(&["/bin/a", "2"]));
    let mut other_rule = question(&["/bin/a", "3"]);
    other_rule.reason = reason("other");
    let apart =
        [question(&["/bin/b", "1"]), other_rule, file("/bin/a")].map(|question| waiting(&manager, &question));
    let listings = manager.snapshot();
    assert_eq!(listings.iter().map(|listing| listing.requests.len()).collect::<Vec<_>>(), [2, 1, 1, 1]);
    let seen = listings[0].card.revision;
    let late = waiting(&manager, &question(&["/bin/a", "late"]));
    assert_eq!(
        manager.resolve(&one.call().to_string(), Some(seen + 9), ONCE, Route::Cli),
        Err(ResolveError::NoRevision(seen + 9))
    );
    assert_eq!(
        manager.resolve(&late.call().to_string(), Some(seen), ONCE, Route::Cli),
        Err(ResolveError::NoRevision(seen)),
        "it was not on the card then"
    );
    let resolved = manager.resolve(&one.call().to_string(), Some(seen), ONCE, Route::Cli).unwrap();
    assert_eq!(resolved.answered, [one.call(), two.call()]);
    let calls = [one.call(), two.call()];
    assert_eq!((one.ended().await, two.ended().await), (YES, YES));
    assert!(calls.into_iter().all(|call| manager.consume(call)));
    // Questions added after the card was shown stay pending, and so do the other cards.
    assert!(!manager.consume(late.call()));
    assert_eq!(manager.snapshot().len(), 1 + apart.len());
    assert!(manager.snapshot()[0].card.revision > seen);
    assert_eq!(answer(&manager, &late, DENY), Ok(1));
}

#[tokio::test(start_paused = true)]
async fn a_card_is_answered_as_a_whole_or_not_at_all() {
    let (manager, _) = started(settings());
    let one = waiting(&manager, &question(&["/bin/a", "1"]));
    let mut code = question(&["/bin/a", "-c", "code"]);
    code.always = Always::Never("its arguments contain code".to_owned());
    let two = waiting(&manager, &code);
    let revision = manager.snapshot()[0].card.revision;
    let error = manager.resolve(&one.call().to_string(), Some(revision), ALWAYS, Route::Cli);
    assert_eq!(error.unwrap_err().to_string(), "allow-always is unavailable: its arguments contain code");
    assert_eq!(manager.snapshot()[0].requests.len(), 2);
    let resolved = manager.resolve(&one.call().to_string(), None, ALWAYS, Route::Cli).unwrap();
    assert_eq!(resolved.saves.len(), 1);
    assert!(
        matches!(&resolved.saves[0].saving, Saving::Entry(entry) if entry.arg_pattern == "/bin/a 1"),
        "{resolved:?}"
    );
    assert!(answer(&manager, &two, ALWAYS).is_err());
}

#[tokio::test(start_paused = true)]
async fn a_file_can_be_saved_with_its_directory_and_a_program_cannot() {
    let rule = |pattern: &str| {
        Saving::Rule(FileRule { pattern: pattern.to_owned(), bits: Bits::parse("r").unwrap() })
    };
    let (manager, _) = started(settings());
    let asked = |name: &str| Question {
        always: Always::Saves { narrow: vec![rule(&format!("/d/{name}"))], directory: vec![rule("/d/**")] },
        ..file(&format!("/d/{name}"))
    };
    let tickets = ["a", "b"].map(|name| waiting(&manager, &asked(name)));
    let wide = Decision::AllowAlways(GrantWidth::Directory);
    let saved = |ticket: &Ticket, decision| {
        manager.resolve(&ticket.call().to_string(), None, decision, Route::Cli).unwrap().saves
    };
    let [narrow, directory] = [saved(&tickets[0], ALWAYS), saved(&tickets[1], wide)];
    assert_eq!((narrow.len(), &narrow[0].saving), (1, &rule("/d/a")));
    assert_eq!((directory.len(), &directory[0].saving), (1, &rule("/d/**")));
    let program = waiting(&manager, &question(&["/bin/a"]));
    assert_eq!(answer(&manager, &program, wide), Err(ResolveError::NoDirectory));
    // Answering a whole card saves each entry once for all its questions.
    let program = ["1", "2"].map(|argument| {
        waiting(
            &manager,
            &Question { always: saves(vec![rule("/bin/b")]), ..question(&["/bin/b", argument]) },
        )
    });
    let card = manager.snapshot().into_iter().find(|listing| listing.requests.len() == 2).unwrap().card;
    let resolved =
        manager.resolve(&program[0].call().to_string(), Some(card.revision), ALWAYS, Route::Cli).unwrap();
    assert_eq!(resolved.saves.len(), 1);
    assert_eq!(resolved.saves[0].questions, program.each_ref().map(Ticket::call));
}

#[tokio::test(start_paused = true)]
async fn a_question_asked_each_time_gets_no_lasting_answer() {
    let (manager, _) = started(settings());
    let each = Question { repeat: Repeat::AskedEachTime, ..question(&["/bin/a"]) };
    let ticket = waiting(&manager, &each);
    for decision in [ALWAYS, Decision::AllowFor(GrantWidth::Narrow, Span::Session)] {
        assert_eq!(answer(&manager, &ticket, decision), Err(ResolveError::AskedEachTime(decision)));
    }
    assert_eq!(answer(&manager, &ticket, ONCE), Ok(1));
    // A grant from before the policy asked each time does not apply either.
    let plain = waiting(&manager, &question(&["/bin/b"]));
    assert_eq!(answer(&manager, &plain, Decision::AllowFor(GrantWidth::Narrow, Span::Session)), Ok(1));
    let _asked = waiting(&manager, &Question { repeat: Repeat::AskedEachTime, ..question(&["/bin/b"]) });
}

#[tokio::test(start_paused = true)]
async fn a_denial_stands_for_the_burst() {
    let (manager, _) = started(settings());
    let ticket = waiting(&manager, &question(&["/bin/a"]));
    assert_eq!(answer(&manager, &ticket, DENY), Ok(1));
    for _ in 0..100 {
        assert_eq!(refusal(&manager, &question(&["/bin/a"])), Refusal::DeniedLately);
    }
    let _other = waiting(&manager, &question(&["/bin/a", "x"]));
    advance(BURST_INTERVAL).await;
    let _again = waiting(&manager, &question(&["/bin/a"]));
}

#[tokio::test(start_paused = true)]
async fn grants_hold_as_long_as_they_say() {
    let (manager, log) = started(settings());
    let ticket = waiting(&manager, &question(&["/bin/a"]));
    let minutes = Decision::AllowFor(GrantWidth::Narrow, Span::Minutes(NonZeroU16::new(10).unwrap()));
    assert_eq!(answer(&manager, &ticket, minutes), Ok(1));
    assert!(manager.consume(ticket.call()));
    advance(SECOND * 599).await;
    assert!(
        matches!(ask(&manager, &question(&["/bin/a"])), AskOutcome::Granted(grant) if grant.until.is_some())
    );
    assert_eq!(log.whats().last(), Some(&QuestionChange::Granted));
    advance(SECOND).await;
    let ticket = waiting(&manager, &question(&["/bin/a"]));
    assert_eq!(answer(&manager, &ticket, Decision::AllowFor(GrantWidth::Narrow, Span::Session)), Ok(1));
    advance(SECOND * 1_000_000).await;
    assert!(
        matches!(ask(&manager, &question(&["/bin/a"])), AskOutcome::Granted(grant) if grant.until.is_none())
    );
}

#[tokio::test(start_paused = true)]
async fn an_always_lets_equal_calls_go_until_its_entry_is_read() {
    let (manager, _) = started(settings());
    let ticket = waiting(&manager, &question(&["/bin/a"]));
    let resolved = manager.resolve(&ticket.call().to_string(), None, ALWAYS, Route::Cli).unwrap();
    assert_eq!(resolved.saves[0].agent, "main");
    assert!(matches!(ask(&manager, &question(&["/bin/a"])), AskOutcome::Granted(_)));
    advance(BURST_INTERVAL).await;
    let _asked = waiting(&manager, &question(&["/bin/a"]));
}

#[test]
fn decisions_are_read_as_they_are_written() {
    for word in [
        "allow-once",
        "allow-always",
        "allow-always-directory",
        "allow-session",
        "allow-1m",
        "allow-65535m",
        "deny",
    ] {
        assert_eq!(word.parse::<Decision>().unwrap().to_string(), word);
    }
    for word in
        ["", "allow", "Allow-once", "allow-0m", "allow-65536m", "allow--1m", "allow-+5m", "allow-m", "yes"]
    {
        assert!(word.parse::<Decision>().is_err(), "{word}");
    }
}
