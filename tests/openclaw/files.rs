//! A question about a file is a card, as for a command.

use guard_tests::gateway::{Release, gateway};

use crate::world::{approver, path, world};

for_each_release! { a_file_to_read, a_file_in_the_home_to_write }

fn a_file_to_read(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let (world, app) = (world(&gateway), approver(&gateway));
    let file = path(&world, "else/file");
    let held = world.start(&["bash", "-c", &format!("cat {file}; cat {file} || echo no")]);
    let first = app.card(&file);
    let text = first["request"]["command"].as_str().expect("a command").to_owned();
    assert!(text.starts_with(&format!("[read] {file}")) && text.contains("cat"), "{text}");
    app.resolve(&first, "allow-once").expect("to answer");
    let is_other = |card: &serde_json::Value| card["id"] != first["id"] && card.to_string().contains(&file);
    let second = app.event("exec.approval.requested", is_other).1;
    app.resolve(&second, "deny").expect("to answer");
    assert_eq!(held.end().stdout, "secret\nno\n");
}

fn a_file_in_the_home_to_write(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    let (world, app) = (world(&gateway), approver(&gateway));
    // A unique name, since other worlds have homes, too.
    let name = format!("x{}", std::process::id());
    let line = format!("echo one > ~/{name}; echo two > ~/{name}.2 || echo no");
    let held = world.start(&["bash", "-c", &line]);
    let card = app.card(&format!("[write] ~/{name} "));
    app.resolve(&card, "allow-once").expect("to answer");
    let card = app.card(&format!("[write] ~/{name}.2 "));
    app.resolve(&card, "deny").expect("to answer");
    assert_eq!(held.end().stdout, "no\n");
    assert_eq!(world.read(format!("home/{name}")).as_deref(), Some("one\n"));
    assert_eq!(world.read(format!("home/{name}.2")), None);
}
