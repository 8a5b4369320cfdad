//! Callers that have a signal to handle.

use std::time::Duration;

use guard_policy::approval::Route;
use tokio::time::advance;

use super::super::outcome::Lookup;
use super::super::pending::{LATE_YES_INTERVAL, LINGER_INTERVAL};
use super::super::resolved::GRACE_INTERVAL;
use super::*;

#[tokio::test(start_paused = true)]
async fn a_question_waits_for_a_caller_that_takes_a_signal() {
    let (manager, log) = started(settings());
    let first = waiting(&manager, &question(&["/bin/a"]));
    let id = first.call();
    manager.pause(id);
    assert_eq!(first.ended().await, Resolution::Withdrawn);
    advance(LINGER_INTERVAL - Duration::from_millis(1)).await;
    // The caller comes back, and finds its question.
    let again = waiting(&manager, &question(&["/bin/a"]));
    advance(2 * LINGER_INTERVAL).await;
    assert_eq!(manager.snapshot().len(), 1);
    assert_eq!(manager.resolve(&id.to_string(), None, ONCE, Route::Cli).map(|done| done.id), Ok(id));
    let call = again.call();
    assert_eq!(again.ended().await, YES);
    assert!(manager.consume(call) && !manager.consume(id));
    assert_eq!(log.whats().iter().filter(|what| matches!(what, QuestionChange::Requested { .. })).count(), 1);

    let gone = waiting(&manager, &question(&["/bin/b"]));
    manager.pause(gone.call());
    let id = gone.call();
    drop(gone);
    advance(LINGER_INTERVAL).await;
    assert_eq!(manager.find(&id.to_string()), Ok(Lookup::Ended(id, Resolution::Withdrawn)));
    advance(2 * GRACE_INTERVAL).await;
    manager.snapshot();
    assert_empty(&manager);
}

#[tokio::test(start_paused = true)]
async fn a_signal_right_after_the_yes_takes_nothing_back() {
    let (manager, _) = started(settings());
    let asks = waiting(&manager, &question(&["/bin/a"]));
    let call = asks.call();
    assert!(manager.resolve(&call.to_string(), None, ONCE, Route::Cli).is_ok());
    // The waiter has its answer, and the watcher does not know that yet.
    manager.pause(call);
    assert_eq!(asks.ended().await, YES);
    assert!(manager.consume(call) && !manager.consume(call));
}

#[tokio::test(start_paused = true)]
async fn a_yes_waits_for_the_caller_that_takes_a_signal() {
    let (manager, log) = started(settings());
    let asked = question(&["/bin/a"]);
    let away = |manager: &Manager| {
        let ticket = waiting(manager, &asked);
        let id = ticket.call();
        manager.pause(id);
        drop(ticket);
        assert!(manager.resolve(&id.to_string(), None, ONCE, Route::Cli).is_ok());
        assert!(!manager.consume(id));
    };
    away(&manager);
    // Another process with an equal call, and another call of the same process, have questions of their own.
    let mut other = asked.clone();
    other.asked_by[0].started += 1;
    let others = [waiting(&manager, &other), waiting(&manager, &question(&["/bin/b"]))];
    assert_eq!(manager.snapshot().len(), 2);
    drop(others);
    // The caller comes back, and goes on: once.
    let again = waiting(&manager, &asked);
    let call = again.call();
    assert_eq!(again.ended().await, YES);
    assert!(manager.consume(call) && !manager.consume(call));
    assert_eq!(manager.snapshot().len(), 0);
    assert_eq!(log.whats().iter().filter(|what| matches!(what, QuestionChange::Consumed)).count(), 1);

    // A caller that comes back and leaves again has used the yes.
    away(&manager);
    drop(waiting(&manager, &asked));
    let asks = waiting(&manager, &asked);
    assert_eq!(manager.snapshot().len(), 1);
    drop(asks);

    // A caller that comes back too late is asked about again.
    away(&manager);
    advance(LATE_YES_INTERVAL).await;
    let late = waiting(&manager, &asked);
    assert_eq!(manager.snapshot().len(), 1);
    drop(late);
    advance(2 * GRACE_INTERVAL).await;
    manager.snapshot();
    assert_empty(&manager);
}
