//! The second step of a node's pairing: the operator decides about its commands. OpenClaw 2026.7.35 tells the node nothing
//! about that, and 2026.9.6 sends an event.

use std::thread::sleep;
use std::time::Duration;

use guard_tests::{World, until};
use serde_json::json;

use crate::node_gateway::{FULL, FakeGateway, Lists, NodeLink, NodeProcess, REQUEST, status, world};

/// Longer than the first three waits of a node that looks again.
const LOOKS: Duration = Duration::from_secs(15);
const APPROVED: &str = "its commands are approved";

/// How often the node has printed this.
pub fn printed(world: &World, text: &str) -> usize {
    world.read("node.log").unwrap_or_default().matches(text).count()
}

pub fn surface_is(world: &World, state: &str) -> bool {
    status(world)["surface"]["state"] == state
}

/// A node whose commands wait for approval, and which has asked the gateway about that more than once.
fn waiting(gateway: &FakeGateway) -> (World, NodeProcess, NodeLink) {
    let world = world(gateway, FULL);
    let node = NodeProcess::start(&world, &[]);
    let link = gateway.node();
    until("it looks again", || gateway.looks() >= 2);
    assert!(surface_is(&world, "pending"));
    (world, node, link)
}

/// The gateway hears nothing more.
fn no_more_looks(gateway: &FakeGateway) {
    let looks = gateway.looks();
    sleep(LOOKS);
    // One may have been under way.
    assert!(gateway.looks() <= looks + 1, "{looks} looks, and then {}", gateway.looks());
}

/// Tells the node what was decided about a request.
pub fn resolve(link: &mut NodeLink, request: &str, decision: &str) {
    let node = link.id();
    link.event(
        "node.pair.resolved",
        &json!({"requestId": request, "nodeId": node, "decision": decision, "ts": 1}),
    );
}

#[test]
fn an_approval_without_an_event_is_found() {
    let gateway = FakeGateway::start();
    let (world, _node, mut link) = waiting(&gateway);
    gateway.list(Lists::Approved);
    until("the approval is found", || surface_is(&world, "approved"));
    assert!(status(&world)["surface"]["requestId"].is_null());
    // An event that comes later adds nothing.
    resolve(&mut link, REQUEST, "approved");
    assert_eq!(link.run(&["true"])["exitCode"], 0);
    assert_eq!(printed(&world, APPROVED), 1, "{:?}", world.read("node.log"));
    assert_eq!(printed(&world, "wait for approval"), 1);
    no_more_looks(&gateway);
}

#[test]
fn an_approval_by_an_event_ends_the_looking() {
    let gateway = FakeGateway::start();
    let (world, _node, mut link) = waiting(&gateway);
    // The list may lag behind the event.
    resolve(&mut link, REQUEST, "approved");
    until("the event counts", || surface_is(&world, "approved"));
    no_more_looks(&gateway);
    assert!(surface_is(&world, "approved"));
    assert_eq!(printed(&world, APPROVED), 1);
}

#[test]
fn a_rejection_ends_the_looking() {
    let gateway = FakeGateway::start();
    let (world, _node, mut link) = waiting(&gateway);
    resolve(&mut link, REQUEST, "rejected");
    until("the event counts", || surface_is(&world, "rejected"));
    no_more_looks(&gateway);
    assert_eq!(printed(&world, "its commands are not approved"), 1);
}

#[test]
fn a_rejection_without_an_event_ends_the_looking() {
    let gateway = FakeGateway::start();
    let (world, _node, _link) = waiting(&gateway);
    gateway.list(Lists::Rejected);
    until("the rejection is found", || surface_is(&world, "rejected"));
    no_more_looks(&gateway);
    assert_eq!(printed(&world, "its commands are not approved"), 1);
}

/// Neither a first look that fails ends the looking, nor a later one.
fn goes_on_after(fails: Lists) {
    let gateway = FakeGateway::start();
    gateway.list(fails);
    let world = world(&gateway, FULL);
    let _node = NodeProcess::start(&world, &[]);
    let _link = gateway.node();
    until("it looks", || gateway.looks() >= 1);
    gateway.list(Lists::Pending);
    until("the request is found", || surface_is(&world, "pending"));
    let looks = gateway.looks();
    gateway.list(fails);
    until("it looks again", || gateway.looks() > looks);
    assert!(surface_is(&world, "pending"), "{fails:?}");
    gateway.list(Lists::Approved);
    until("the approval is found", || surface_is(&world, "approved"));
    assert_eq!(printed(&world, APPROVED), 1, "{fails:?}");
}

#[test]
fn an_error_ends_no_looking() {
    goes_on_after(Lists::Error);
}

#[test]
fn a_gateway_that_hangs_up_ends_no_looking() {
    goes_on_after(Lists::End);
}

#[test]
fn a_gateway_that_says_nothing_ends_no_looking() {
    goes_on_after(Lists::Silence);
}

#[test]
fn a_lost_connection_ends_the_looking_and_the_next_begins_anew() {
    let gateway = FakeGateway::start();
    let (world, _node, link) = waiting(&gateway);
    link.hang_up();
    let looks = gateway.looks();
    let _link = gateway.node();
    until("it looks anew", || gateway.looks() > looks);
    gateway.list(Lists::Approved);
    until("the approval is found", || surface_is(&world, "approved"));
    // Neither the looking of the first connection nor that of the second goes on.
    no_more_looks(&gateway);
    assert_eq!(printed(&world, "wait for approval"), 2);
    assert_eq!(printed(&world, APPROVED), 1);
}
