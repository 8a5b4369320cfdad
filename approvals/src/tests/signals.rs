//! Callers that have a signal to handle.

use std::time::Duration;

use guard_policy::approval::Route;
use tokio::time::advance;

use super::super::outcome::Lookup;
use super::super::pending::LINGER_INTERVAL;
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
    // An answer given meanwhile does not allow the next caller.
    let third = waiting(&manager, &question(&["/bin/c"]));
    let id = third.call();
    manager.pause(id);
    assert!(manager.resolve(&id.to_string(), None, ONCE, Route::Cli).is_ok());
    assert!(!manager.consume(id));
    let fourth = waiting(&manager, &question(&["/bin/c"]));
    drop((third, fourth));
    advance(2 * GRACE_INTERVAL).await;
    manager.snapshot();
    assert_empty(&manager);
}
