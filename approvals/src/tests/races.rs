//! Races between two threads.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use guard_policy::approval::Route;

use super::super::outcome::SaveError;
use super::*;

const ROUNDS: usize = 300;

/// Runs two operations at the same time, many times, on a new ticket each time.
fn race<A: Send, B: Send>(
    mut look: impl FnMut(&Manager, super::super::question::Id, A, B, Resolution),
    one: impl Fn(&Manager, &str) -> A + Sync,
    other: impl Fn(&Manager, &str) -> B + Sync,
) {
    let manager = Manager::new(Settings { max_pending: 1024, ..settings() }, ());
    for round in 0..ROUNDS {
        let ticket = waiting(&manager, &question(&["/bin/a", &round.to_string()]));
        let (call, id) = (ticket.call(), ticket.call().to_string());
        let start = Barrier::new(3);
        let (a, b, end) = thread::scope(|scope| {
            let one = scope.spawn(|| {
                start.wait();
                one(&manager, &id)
            });
            let other = scope.spawn(|| {
                start.wait();
                other(&manager, &id)
            });
            let waits = scope.spawn(move || ticket.wait());
            start.wait();
            (one.join().unwrap(), other.join().unwrap(), waits.join().unwrap())
        });
        look(&manager, call, a, b, end);
    }
}

fn resolve_with(decision: Decision) -> impl Fn(&Manager, &str) -> Result<usize, ResolveError> + Sync {
    move |manager, id| manager.resolve(id, None, decision, Route::Cli).map(|resolved| resolved.answered.len())
}

#[test]
fn of_two_answers_one_counts() {
    race(
        |manager, call, yes, no, end| match end {
            YES => {
                assert_eq!((yes, no), (Ok(1), Err(ResolveError::AlreadyResolved)));
                assert!(manager.consume(call));
            }
            NO => {
                assert_eq!((yes, no), (Err(ResolveError::AlreadyResolved), Ok(1)));
                assert!(!manager.consume(call));
            }
            other => panic!("{other:?}"),
        },
        resolve_with(ONCE),
        resolve_with(DENY),
    );
}

#[test]
fn the_same_answer_twice_is_one_yes() {
    race(
        |manager, call, a, b, end| {
            let mut answered = [a.unwrap(), b.unwrap()];
            answered.sort_unstable();
            assert_eq!((answered, end), ([0, 1], YES));
            let claims: usize = thread::scope(|scope| {
                let claims: Vec<_> =
                    (0..4).map(|_| scope.spawn(|| usize::from(manager.consume(call)))).collect();
                claims.into_iter().map(|claim| claim.join().unwrap()).sum()
            });
            assert_eq!(claims, 1);
        },
        resolve_with(ONCE),
        resolve_with(ONCE),
    );
}

#[test]
fn a_caller_that_dies_during_an_answer_goes_nowhere() {
    race(
        |manager, call, answered, (), end| {
            match end {
                YES => assert_eq!(answered, Ok(1)),
                Resolution::Withdrawn => assert_eq!(answered, Err(ResolveError::Withdrawn)),
                other => panic!("{other:?}"),
            }
            assert!(!manager.consume(call), "the caller is gone either way");
        },
        resolve_with(ONCE),
        |manager, id| manager.withdraw(id.parse().unwrap()),
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_at_the_last_moment_counts_and_a_later_one_does_not() {
    let (manager, _) = started(settings());
    for early in [true, false] {
        let ticket = waiting(&manager, &question(&["/bin/a", if early { "1" } else { "2" }]));
        let call = ticket.call();
        // One nanosecond before the timeout, then exactly at the timeout.
        let late = tokio::time::advance(TIMEOUT - Duration::from_nanos(u64::from(early)));
        late.await;
        let answered = answer(&manager, &ticket, ONCE);
        assert_eq!(answered, if early { Ok(1) } else { Err(ResolveError::Expired) });
        assert_eq!(ticket.ended().await, if early { YES } else { Resolution::Expired });
        assert_eq!(manager.consume(call), early);
    }
}

#[test]
fn answers_and_the_end_of_the_time_race() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let manager =
        Manager::new(Settings { timeout: Duration::from_millis(5), max_pending: 1024, ..settings() }, ());
    let expirer = manager.clone();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let time = thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! { () = expirer.expire_loop() => {} _ = stopped => {} }
        });
    });
    let mut ends = [0, 0];
    for round in 0..100_u64 {
        let ticket = waiting(&manager, &question(&["/bin/a", &round.to_string()]));
        let call = ticket.call();
        let (answered, end) = thread::scope(|scope| {
            let waits = scope.spawn(move || ticket.wait());
            thread::sleep(Duration::from_micros(4500 + round * 10));
            (manager.resolve(&call.to_string(), None, ONCE, Route::Cli), waits.join().unwrap())
        });
        match end {
            YES => assert!(answered.is_ok()),
            Resolution::Expired => assert_eq!(answered, Err(ResolveError::Expired)),
            other => panic!("{other:?}"),
        }
        assert_eq!(manager.consume(call), end == YES);
        ends[usize::from(end == YES)] += 1;
    }
    println!("expired, answered: {ends:?}");
    drop(stop);
    time.join().unwrap();
}

#[test]
fn an_always_answer_is_given_once_all_entries_are_saved() {
    let manager = Manager::new(settings(), ());
    let entry =
        |name: &str| Saving::Entry(BoundEntry { pattern: name.to_owned(), arg_pattern: String::new() });
    let asked = Question { always: saves(vec![entry("/a"), entry("/b")]), ..question(&["/bin/a"]) };
    let (one, joined) = (waiting(&manager, &asked), waiting(&manager, &asked));
    let calls = [one.call(), joined.call()];
    let resolved = manager.resolve(&one.call().to_string(), None, ALWAYS, Route::Cli).unwrap();
    let ends = [one.wait(), joined.wait()];
    assert_eq!(ends, [Resolution::Resolved(ALWAYS); 2]);
    assert!(calls.into_iter().all(|call| !manager.wait_for_save(call, Duration::ZERO)));
    let saved = AtomicUsize::new(0);
    thread::scope(|scope| {
        for call in calls {
            let (manager, saved) = (&manager, &saved);
            scope.spawn(move || {
                assert!(manager.wait_for_save(call, TIMEOUT));
                assert_eq!(saved.load(Ordering::SeqCst), 2);
            });
        }
        for (save, outcome) in resolved.saves.iter().zip([Ok("x".to_owned()), Err(SaveError::BlankPattern)]) {
            saved.fetch_add(1, Ordering::SeqCst);
            manager.saved(save, &outcome);
        }
    });
    // One report too many does not make the count wrap.
    manager.saved(&resolved.saves[0], &Ok(String::new()));
    assert!(manager.wait_for_save(calls[0], Duration::ZERO));
    // If nothing is saved, nobody waits.
    let once = waiting(&manager, &question(&["/bin/b"]));
    assert!(manager.wait_for_save(once.call(), Duration::ZERO));
    assert_eq!(answer(&manager, &once, ONCE), Ok(1));
    assert!(manager.wait_for_save(once.call(), Duration::ZERO));
}
