//! Many calls.

use std::collections::BTreeMap;

use guard_policy::approval::Route;
use tokio::time::{advance, sleep};

use super::super::event::QuestionChange;
use super::super::resolved::GRACE_INTERVAL;
use super::*;

/// The maximum kept state, whatever the callers do.
const MAX_STATE: [usize; 6] = [1024, 3 * 4096, 16 << 20, 4096, 2048, 4096];

fn assert_bounded(manager: &Manager) {
    let held = manager.held();
    assert!(held.iter().zip(MAX_STATE).all(|(held, most)| *held <= most), "{held:?}");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_a_second() {
    let manager = Manager::new(settings(), ());
    tokio::spawn(manager.clone().expire_loop());
    let (_, mut slow) = manager.subscribe();
    let mut waits = Vec::new();
    let (mut refused, mut asked) = (0, 0);
    for second in 0..60_usize {
        for i in 0..1000_usize {
            let n = second * 1000 + i;
            // New programs, new arguments, repeated calls, and callers that die at once.
            let question = match n % 4 {
                0 => question(&[&format!("/bin/{n}")]),
                1 => question(&["/bin/a", &format!("{n}")]),
                2 => question(&["/bin/a", "same"]),
                _ => file(&format!("/tmp/{n}")),
            };
            match ask(&manager, &question) {
                AskOutcome::Waiting(ticket) if n % 3 == 0 => drop(ticket),
                AskOutcome::Waiting(ticket) => {
                    asked += 1;
                    waits.push(tokio::spawn(ticket.ended()));
                }
                AskOutcome::Refused(_) => refused += 1,
                other => panic!("{other:?}"),
            }
            if n % 7 == 0 {
                let decision = [ONCE, DENY][n / 7 % 2];
                if let Some(listing) = manager.snapshot().first() {
                    let id = listing.requests[0].0.id.to_string();
                    manager.resolve(&id, Some(listing.card.revision), decision, Route::Cli).unwrap();
                }
            }
        }
        advance(Duration::from_secs(1)).await;
        assert_bounded(&manager);
    }
    assert!(asked > 1000 && refused > 1000, "{asked} asked, {refused} refused");
    for wait in waits {
        wait.await.unwrap();
    }
    sleep(2 * GRACE_INTERVAL).await;
    assert_empty(&manager);
    assert!(
        matches!(slow.try_recv(), Err(tokio::sync::broadcast::error::TryRecvError::Lagged(_))),
        "one that does not read holds up nobody, and is told"
    );
}

#[tokio::test(start_paused = true)]
async fn long_arguments_have_a_bound_too() {
    let manager = Manager::new(Settings { max_pending: 1024, ..settings() }, ());
    let long = "x".repeat(110_000);
    let tickets: Vec<_> = (0..1000)
        .filter_map(|n| match ask(&manager, &question(&["/bin/a", &long, &n.to_string()])) {
            AskOutcome::Waiting(ticket) => Some(ticket),
            AskOutcome::Refused(Refusal::Full) => None,
            other => panic!("{other:?}"),
        })
        .collect();
    assert!((50..100).contains(&tickets.len()), "{}", tickets.len());
    assert_bounded(&manager);
}

#[tokio::test(start_paused = true)]
async fn five_hundred_answered_in_any_order() {
    let (manager, log) = started(Settings { max_pending: 500, ..settings() });
    let mut waits = BTreeMap::new();
    for n in 0..500 {
        let ticket = waiting(&manager, &question(&[&format!("/bin/{n}")]));
        waits.insert(ticket.call(), (n, tokio::spawn(ticket.ended())));
    }
    // Ids are random, and so is their order.
    for (call, (n, _)) in &waits {
        let decision = if n % 2 == 0 { ONCE } else { DENY };
        assert_eq!(manager.resolve(&call.to_string(), None, decision, Route::Cli).unwrap().answered, [*call]);
    }
    for (call, (n, wait)) in waits {
        assert_eq!(wait.await.unwrap(), if n % 2 == 0 { YES } else { NO });
        assert_eq!(manager.consume(call), n % 2 == 0);
    }
    let resolved = log.whats().iter().filter(|what| matches!(what, QuestionChange::Resolved { .. })).count();
    assert_eq!(resolved, 500);
    sleep(2 * GRACE_INTERVAL).await;
    assert_empty(&manager);
}
