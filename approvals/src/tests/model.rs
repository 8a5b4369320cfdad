//! Arbitrary operations in any order, against a model that only knows which questions were allowed, and when.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU16;

use guard_policy::approval::Route;
use proptest::prelude::*;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::super::decision::{RouteFailure, Span};
use super::super::outcome::{Lookup, Registered};
use super::super::pending::{BURST_INTERVAL, PendingApprovals};
use super::super::question::Id;
use super::super::resolved::GRACE_INTERVAL;
use super::*;

#[derive(Clone, Debug)]
enum ModelStep {
    /// A call with one of few bindings.
    Ask(usize),
    /// The call made this many calls ago, once more.
    Again(usize),
    /// An answer for the call made this many calls ago, perhaps for its card.
    Answer(usize, Option<u64>, Decision),
    /// One of the two existing routes fails to answer it.
    GiveUp(usize, Route, RouteFailure),
    Leave(usize),
    Consume(usize),
    /// Time passes, in milliseconds.
    Pass(u64),
    Close,
}

fn steps() -> impl Strategy<Value = Vec<ModelStep>> {
    let decision = prop::sample::select(vec![
        ONCE,
        DENY,
        ALWAYS,
        Decision::AllowFor(GrantWidth::Narrow, Span::Session),
        Decision::AllowFor(GrantWidth::Narrow, Span::Minutes(NonZeroU16::MIN)),
    ]);
    let step = prop_oneof![
        6 => (0..6_usize).prop_map(ModelStep::Ask),
        1 => (0..8_usize).prop_map(ModelStep::Again),
        4 => (0..8_usize, prop::option::of(0..8_u64), decision).prop_map(|(n, revision, decision)| ModelStep::Answer(n, revision, decision)),
        2 => (0..8_usize, prop::sample::select(vec![Route::Socket, Route::Gateway]), prop::sample::select(vec![RouteFailure::Nobody, RouteFailure::Failed])).prop_map(|(n, route, lack)| ModelStep::GiveUp(n, route, lack)),
        2 => (0..8_usize).prop_map(ModelStep::Leave),
        4 => (0..8_usize).prop_map(ModelStep::Consume),
        2 => prop::sample::select(vec![1, 999, 4999, 5000, 14_999, 15_000, 60_000, 119_999, 120_000]).prop_map(ModelStep::Pass),
    ];
    (prop::collection::vec(step, 0..80), any::<bool>()).prop_map(|(mut steps, closes)| {
        steps.extend(closes.then_some(ModelStep::Close));
        steps
    })
}

/// Four sets of arguments on one card, one program that is asked each time, one file.
fn kinds() -> [Question; 6] {
    let mut each = question(&["/bin/e"]);
    each.repeat = Repeat::AskedEachTime;
    let one = |argument| question(&["/bin/a", argument]);
    [one("1"), one("2"), one("3"), question(&["/bin/b"]), each, file("/f")]
}

#[derive(Debug)]
struct ModelCall {
    request: Arc<PendingRequest>,
    /// The receivers, each with its question.
    receivers: Vec<(Id, oneshot::Receiver<Resolution>)>,
    /// The first call that waits for the same answer.
    question: Id,
    /// The first waiter; the second one came by `Again`.
    waiter: u64,
    left: bool,
}

#[derive(Debug, Default)]
struct Model {
    calls: Vec<ModelCall>,
    /// When each question was allowed, by its id.
    yes: BTreeMap<Id, Instant>,
    /// When the grant of a kind ends.
    grants: BTreeMap<usize, Instant>,
    denials: BTreeMap<usize, Instant>,
    /// The routes that cannot answer a question.
    without: BTreeMap<Id, Vec<Route>>,
    /// Questions that one of the routes failed to ask.
    failed: BTreeSet<Id>,
    /// How often a call was consumed, by the call and the time of its approval: a forgotten call may be made again.
    consumed: BTreeMap<(Id, Instant), usize>,
}

fn run(steps: Vec<ModelStep>) -> Result<(), TestCaseError> {
    let kinds = kinds();
    let mut pending = PendingApprovals::default();
    let mut model = Model::default();
    let mut now = Instant::now();
    let begin = now;
    let mut closed = false;
    for step in steps {
        match step {
            ModelStep::Ask(kind) => {
                let request =
                    PendingRequest::new(guard_openclaw::ids::random(), kinds[kind].clone(), TIMEOUT, now, 0);
                let request = Arc::new(request);
                let waits_already = {
                    pending.pass(now);
                    let listed = pending.listings().into_iter().flat_map(|listing| listing.requests);
                    listed.map(|(request, _)| request).find(|other| other.question == kinds[kind])
                };
                match pending.register(&request, 3, true, now) {
                    Registered::Waiting(waiter, receiver) => {
                        prop_assert!(model.denials.get(&kind).is_none_or(|until| *until <= now));
                        let question = waits_already.map_or(request.id, |other| other.id);
                        let receivers = vec![(question, receiver)];
                        model.calls.push(ModelCall { request, receivers, question, waiter, left: false });
                    }
                    Registered::Granted(_) => {
                        prop_assert!(
                            model.grants.get(&kind).is_some_and(|until| *until > now),
                            "nobody granted it"
                        );
                        prop_assert_eq!(kinds[kind].repeat, Repeat::Allowed);
                    }
                    Registered::Refused(Refusal::DeniedLately) => {
                        prop_assert!(model.denials.get(&kind).is_some_and(|until| *until > now));
                    }
                    Registered::Ended(Resolution::Expired) => {
                        let mut same = model.calls.iter().filter(|call| call.request.question == kinds[kind]);
                        prop_assert!(same.any(|call| call.request.deadline <= now), "none of them was late");
                    }
                    Registered::Refused(Refusal::TooMany { most: 3 }) => {
                        prop_assert!(pending.listings().len() == 3 && waits_already.is_none());
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            ModelStep::Again(n) => {
                let Some(call) = nth(&mut model.calls, n) else { continue };
                pending.pass(now);
                let mut before = pending.listings().into_iter().flat_map(|listing| listing.requests);
                let is_new = !before.any(|(request, _)| request.id == call.request.id);
                if let Registered::Waiting(_, receiver) = pending.register(&call.request, 3, true, now) {
                    if is_new {
                        // Routes of a forgotten question.
                        model.without.remove(&call.request.id);
                        model.failed.remove(&call.request.id);
                    }
                    // A call that left or was forgotten may now wait for another question of its binding.
                    let listed = pending.listings().into_iter().flat_map(|listing| listing.requests);
                    let mut same = listed.filter(|(other, _)| other.question == call.request.question);
                    call.question = same.next().expect("it waits").0.id;
                    call.receivers.push((call.question, receiver));
                    call.left = false;
                }
            }
            ModelStep::Answer(n, revision, decision) => {
                let Some(call) = nth(&mut model.calls, n) else { continue };
                let id = call.question.to_string();
                pending.pass(now);
                let before: Vec<_> =
                    pending.listings().into_iter().map(|listing| (listing.card, listing.requests)).collect();
                let Ok(resolved) = pending.resolve(&id, revision, decision.into(), Route::Cli, now) else {
                    continue;
                };
                for answered in &resolved.answered {
                    let on_card =
                        before.iter().find(|(_, all)| all.iter().any(|(one, _)| one.id == *answered));
                    let (card, all) = on_card.expect("what is answered was listed");
                    prop_assert!(revision.is_none_or(|revision| revision <= card.revision));
                    prop_assert!(all.iter().any(|(one, _)| one.id == call.question), "one card");
                    let kind = kinds.iter().position(|kind| {
                        all.iter().any(|(one, _)| one.id == *answered && one.question == *kind)
                    });
                    let kind = kind.expect("a kind");
                    match decision {
                        Decision::Deny => drop(model.denials.insert(kind, now + BURST_INTERVAL)),
                        Decision::AllowOnce => {}
                        _ => {
                            let span = match decision {
                                Decision::AllowAlways(_) => BURST_INTERVAL,
                                Decision::AllowFor(GrantWidth::Narrow, Span::Session) => {
                                    Duration::from_secs(1 << 30)
                                }
                                _ => Duration::from_secs(60),
                            };
                            let until = model.grants.entry(kind).or_insert(now);
                            *until = (*until).max(now + span);
                        }
                    }
                    if decision.allows() {
                        model.yes.insert(*answered, now);
                    }
                }
            }
            ModelStep::GiveUp(n, route, lack) => {
                let Some(call) = nth(&mut model.calls, n) else { continue };
                let id = call.question;
                pending.pass(now);
                let waits = |pending: &PendingApprovals| {
                    let mut listed = pending.listings().into_iter().flat_map(|listing| listing.requests);
                    listed.any(|(request, _)| request.id == id)
                };
                if !waits(&pending) {
                    continue;
                }
                let without = model.without.entry(id).or_default();
                if !without.contains(&route) {
                    without.push(route);
                }
                if lack == RouteFailure::Failed {
                    model.failed.insert(id);
                }
                pending.route_failed(
                    id,
                    route,
                    lack,
                    |open| matches!(open, Route::Socket | Route::Gateway),
                    now,
                );
                prop_assert_eq!(waits(&pending), without.len() < 2);
            }
            ModelStep::Leave(n) => {
                let Some(call) = nth(&mut model.calls, n) else { continue };
                call.left = true;
                pending.remove_waiter(call.request.id, None, now);
            }
            ModelStep::Consume(n) => {
                let Some(call) = nth(&mut model.calls, n) else { continue };
                if pending.consume(call.request.id, now) {
                    let granted_at = model.yes.get(&call.question);
                    let granted_at =
                        granted_at.copied().filter(|granted_at| now < *granted_at + GRACE_INTERVAL);
                    prop_assert!(granted_at.is_some(), "allowed without a yes");
                    prop_assert!(!call.left, "the caller was gone");
                    let consumed =
                        model.consumed.entry((call.request.id, granted_at.unwrap_or(now))).or_default();
                    *consumed += 1;
                    prop_assert_eq!(*consumed, 1);
                }
            }
            ModelStep::Pass(ms) => {
                now += Duration::from_millis(ms);
                pending.pass(now);
            }
            ModelStep::Close => {
                pending.close(now);
                closed = true;
            }
        }
        for failed in &model.failed {
            // Only these endings let the fallback apply.
            let is_silence = matches!(
                pending.find(&failed.to_string(), now),
                Ok(Lookup::Ended(_, Resolution::Expired | Resolution::NoRoute))
            );
            prop_assert!(!is_silence, "it could not be asked");
        }
        let held = pending.held();
        prop_assert!(pending.listings().len() <= 3);
        prop_assert_eq!(
            held[0],
            pending.listings().iter().map(|listing| listing.requests.len()).sum::<usize>()
        );
        prop_assert_eq!(held[5] == 0, held[0] == 0, "who waits waits for a question");
    }
    // Every wait ends.
    if !closed {
        now += TIMEOUT;
        pending.pass(now);
    }
    for call in &mut model.calls {
        for (question, receiver) in &mut call.receivers {
            let end = receiver.try_recv();
            prop_assert!(end.is_ok(), "{:?} still waits after {:?}", call.waiter, now - begin);
            if end == Ok(YES) {
                prop_assert!(model.yes.contains_key(question));
            }
        }
    }
    now += GRACE_INTERVAL;
    pending.pass(now);
    let held = pending.held();
    prop_assert_eq!([held[0], held[1], held[2], held[3], held[5]], [0; 5]);
    Ok(())
}

fn nth(calls: &mut [ModelCall], n: usize) -> Option<&mut ModelCall> {
    calls.iter_mut().rev().nth(n)
}

proptest! {
    #[test]
    fn no_call_is_allowed_without_a_yes(steps in steps()) {
        run(steps)?;
    }
}
