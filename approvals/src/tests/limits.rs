//! Limits on questions, waiters that leave, and events.

use guard_policy::approval::Route;
use tokio::time::sleep;

use super::super::decision::Span;
use super::super::outcome::Lookup;
use super::super::question::MAX_LEN;
use super::super::resolved::GRACE_INTERVAL;
use super::*;

#[tokio::test(start_paused = true)]
async fn a_question_without_a_route_ends_at_once() {
    let (manager, _) = started(Settings { routes: Some(vec![Route::Gateway]), ..settings() });
    let refused = refusal(&manager, &question(&["/bin/a"]));
    assert_eq!(refused, Refusal::NoRoute);
    assert!(refused.to_string().starts_with("no-approval-route"));
    manager.reach(Route::Terminal, true);
    assert_eq!(refusal(&manager, &question(&["/bin/a"])), Refusal::NoRoute, "a route that is not wanted");
    manager.reach(Route::Gateway, true);
    let _waits = waiting(&manager, &question(&["/bin/a"]));
    manager.reach(Route::Gateway, false);
    let _joins = waiting(&manager, &question(&["/bin/a"]));
    assert_eq!(refusal(&manager, &question(&["/bin/b"])), Refusal::NoRoute);
    manager.configure(Settings { routes: Some(vec![]), ..settings() });
    assert_eq!(refusal(&manager, &question(&["/bin/b"])), Refusal::NoRoute);
    manager.configure(Settings { routes: Some(vec![Route::Gateway, Route::Cli]), ..settings() });
    manager.reach(Route::Cli, false);
    let _cli = waiting(&manager, &question(&["/bin/b"]));
    manager.configure(settings());
    let _any = waiting(&manager, &question(&["/bin/c"]));
}

#[tokio::test(start_paused = true)]
async fn the_command_line_is_a_route_while_somebody_watches_or_the_policy_names_it() {
    let (manager, _) = started(settings());
    manager.reach(Route::Cli, false);
    assert_eq!(refusal(&manager, &question(&["/bin/a"])), Refusal::NoRoute);
    let watchers = (manager.watch(), manager.watch());
    drop(watchers.0);
    manager.reach(Route::Cli, false);
    let _waits = waiting(&manager, &question(&["/bin/a"]));
    drop(watchers.1);
    manager.reach(Route::Cli, false);
    assert_eq!(refusal(&manager, &question(&["/bin/b"])), Refusal::NoRoute);
    manager.configure(Settings { routes: Some(vec![Route::Cli]), ..settings() });
    manager.reach(Route::Cli, false);
    let _named = waiting(&manager, &question(&["/bin/b"]));
    manager.configure(Settings { routes: Some(vec![Route::Socket]), ..settings() });
    let _watcher = manager.watch();
    assert_eq!(refusal(&manager, &question(&["/bin/c"])), Refusal::NoRoute, "a route that is not wanted");
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_when_the_last_who_follows_stays_away() {
    let (manager, log) = started(settings());
    manager.reach(Route::Cli, false);
    let watcher = manager.watch();
    let first = waiting(&manager, &question(&["/bin/a"]));
    // One follower comes back in time, and another stays a little longer.
    drop(watcher);
    let (again, other) = (manager.watch(), manager.watch());
    drop(again);
    sleep(Duration::from_secs(6)).await;
    drop(other);
    sleep(Duration::from_secs(1)).await;
    assert!(!log.whats().contains(&QuestionChange::NoRoute));
    // A terminal that has come meanwhile can answer.
    manager.reach(Route::Terminal, true);
    sleep(Duration::from_secs(6)).await;
    assert!(!log.whats().contains(&QuestionChange::NoRoute));
    let second = waiting(&manager, &question(&["/bin/b"]));
    let watcher = manager.watch();
    manager.reach(Route::Terminal, false);
    drop(watcher);
    sleep(Duration::from_secs(6)).await;
    assert_eq!((first.ended().await, second.ended().await), (Resolution::NoRoute, Resolution::NoRoute));
    assert_eq!(refusal(&manager, &question(&["/bin/c"])), Refusal::NoRoute);
    // If the policy names the route `cli`, questions wait although nobody follows them.
    manager.configure(Settings { routes: Some(vec![Route::Cli]), ..settings() });
    drop(manager.watch());
    manager.reach(Route::Cli, false);
    let _named = waiting(&manager, &question(&["/bin/d"]));
    sleep(Duration::from_secs(6)).await;
    assert_eq!(manager.snapshot().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn cards_are_limited_for_each_agent() {
    let (manager, _) = started(Settings { max_pending: 2, ..settings() });
    let tickets = ["/bin/a", "/bin/b"].map(|path| waiting(&manager, &question(&[path])));
    assert_eq!(refusal(&manager, &question(&["/bin/c"])), Refusal::TooMany { most: 2 });
    // An existing card has room for more, and another agent has its own limit.
    let _on_card = waiting(&manager, &question(&["/bin/a", "more"]));
    let _other = waiting(&manager, &Question { agent: "other".to_owned(), ..question(&["/bin/c"]) });
    drop(tickets);
    let _room = waiting(&manager, &question(&["/bin/c"]));
}

#[tokio::test(start_paused = true)]
async fn a_question_too_long_to_read_is_not_asked() {
    let (manager, _) = started(settings());
    let long = "x".repeat(MAX_LEN);
    assert!(matches!(refusal(&manager, &question(&["/bin/a", &long])), Refusal::TooLong { .. }));
    let many = vec![""; MAX_LEN];
    let mut argv = vec!["/bin/a"];
    argv.extend(many);
    assert!(matches!(refusal(&manager, &question(&argv)), Refusal::TooLong { .. }));
    assert_empty(&manager);
}

#[tokio::test(start_paused = true)]
async fn the_last_who_waits_takes_the_question_back() {
    let (manager, log) = started(settings());
    let first = waiting(&manager, &question(&["/bin/a"]));
    let second = waiting(&manager, &question(&["/bin/a"]));
    let id = first.call().to_string();
    drop(first);
    assert!(manager.find(&id).is_ok(), "the second waits");
    drop(second);
    assert!(matches!(manager.find(&id), Ok(Lookup::Ended(_, Resolution::Withdrawn))));
    assert_eq!(manager.resolve(&id, None, ONCE, Route::Cli), Err(ResolveError::Withdrawn));
    assert_eq!(log.whats().last(), Some(&QuestionChange::Withdrawn));
    sleep(2 * GRACE_INTERVAL).await;
    assert_empty(&manager);
}

#[tokio::test(start_paused = true)]
async fn the_death_of_a_caller_is_reported() {
    let (manager, _) = started(settings());
    let ticket = waiting(&manager, &question(&["/bin/a"]));
    let cancel = ticket.canceller();
    let waits = tokio::spawn(ticket.ended());
    sleep(Duration::from_secs(1)).await;
    cancel.cancel();
    assert_eq!(waits.await.unwrap(), Resolution::Withdrawn);
    // After an approval: an unused approval becomes void.
    let ticket = waiting(&manager, &question(&["/bin/b"]));
    let (cancel, call) = (ticket.canceller(), ticket.call());
    assert_eq!(answer(&manager, &ticket, ONCE), Ok(1));
    cancel.cancel();
    assert_eq!(ticket.ended().await, YES);
    assert!(!manager.consume(call));
    // Dropping the ticket instead of reading the answer has the same effect.
    let ticket = waiting(&manager, &question(&["/bin/c"]));
    let call = ticket.call();
    assert_eq!(answer(&manager, &ticket, ONCE), Ok(1));
    drop(ticket);
    assert!(!manager.consume(call));
}

#[tokio::test(start_paused = true)]
async fn ids_are_found_by_a_unique_beginning_in_any_case() {
    let (manager, _) = started(settings());
    let mut requests = Vec::new();
    for (id, path) in [("3f0c1c1e", "/bin/a"), ("3f0c1c1f", "/bin/b"), ("a0000000", "/bin/c")] {
        let mut request = manager.create(question(&[path]));
        request.id = format!("{id}-0000-4000-8000-000000000000").parse().unwrap();
        requests.push(Arc::new(request));
    }
    let tickets: Vec<_> = requests.iter().map(|request| manager.register(request)).collect();
    assert_eq!(tickets.len(), 3);
    for (prefix, found) in [("3F0C1C1E", 0), ("3f0c1c1f-0", 1), ("a", 2), (" A0 ", 2)] {
        assert_eq!(manager.find(prefix), Ok(Lookup::Pending(requests[found].id)), "{prefix}");
    }
    assert_eq!(manager.find("3f0c1"), Err(ResolveError::Ambiguous));
    for unknown in ["", " ", "b", "3f0c1c1e-0000-4000-8000-0000000000000", "%", "3f0c1c1e0000"] {
        assert_eq!(manager.find(unknown), Err(ResolveError::Unknown), "{unknown}");
    }
    assert_eq!(manager.resolve("3f", None, ONCE, Route::Cli), Err(ResolveError::Ambiguous));
    manager.resolve("3f0c1c1e", None, DENY, Route::Cli).unwrap();
    assert_eq!(manager.find("3f"), Ok(Lookup::Pending(requests[1].id)), "what waits comes first");
}

#[tokio::test(start_paused = true)]
async fn subscribers_miss_nothing() {
    let (manager, log) = started(settings());
    let before = waiting(&manager, &question(&["/bin/a"]));
    let (snapshot, mut events) = manager.subscribe();
    assert_eq!(snapshot.len(), 1);
    let after = waiting(&manager, &question(&["/bin/b"]));
    answer(&manager, &before, ONCE).unwrap();
    drop(after);
    let gone = waiting(&manager, &question(&["/bin/c"]));
    assert_eq!(gone.ended().await, Resolution::Expired);
    let mut seen = Vec::new();
    while let Ok(event) = events.try_recv() {
        seen.push(event);
    }
    assert_eq!(seen, log.events()[1..]);
    assert!(matches!(
        seen.iter().map(|event| &event.what).collect::<Vec<_>>()[..],
        [
            QuestionChange::Requested { .. },
            QuestionChange::Resolved { .. },
            QuestionChange::Withdrawn,
            QuestionChange::Requested { .. },
            QuestionChange::Expired
        ]
    ));
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_when_the_time_is_not_kept() {
    let manager = Manager::new(settings(), ());
    let time = tokio::spawn(manager.clone().expire_loop());
    let ticket = waiting(&manager, &question(&["/bin/a"]));
    let granted = waiting(&manager, &question(&["/bin/b"]));
    answer(&manager, &granted, Decision::AllowFor(GrantWidth::Narrow, Span::Session)).unwrap();
    time.abort();
    assert_eq!(ticket.ended().await, Resolution::Withdrawn);
    assert!(matches!(refusal(&manager, &question(&["/bin/a"])), Refusal::Broken(_)));
    assert!(matches!(refusal(&manager, &question(&["/bin/b"])), Refusal::Broken(_)));
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_for_a_while_after_the_command_was_asked_to_end() {
    let (manager, _) = started(settings());
    let ticket = waiting(&manager, &question(&["/bin/a"]));
    manager.refuse_for(Duration::from_secs(5), "it ends");
    assert_eq!(ticket.ended().await, Resolution::Withdrawn);
    assert_eq!(refusal(&manager, &question(&["/bin/a"])), Refusal::Broken("it ends".to_owned()));
    sleep(Duration::from_secs(5)).await;
    drop(waiting(&manager, &question(&["/bin/a"])));
    // A manager that is closed for ever does not open again.
    manager.close("over");
    manager.refuse_for(Duration::ZERO, "it ends");
    assert_eq!(refusal(&manager, &question(&["/bin/a"])), Refusal::Broken("over".to_owned()));
}
