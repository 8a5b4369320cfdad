//! The page in every state: its look, its accessibility, its layout on a phone. `UPDATE=1` writes pictures to
//! docs/page.

use serde_json::Value;

use crate::harness::{is_enabled, path, play, signal_scene, wait_for_scene, world};

#[test]
fn every_state_is_accessible_on_every_screen() {
    if !is_enabled() {
        return;
    }
    let world = world();
    let asked = path(&world, "bin/asked");
    let page = world.serve();
    std::thread::scope(|scope| {
        let browser = scope.spawn(|| play(&world, &page, "states", &Value::Null));
        wait_for_scene(&world, "empty");
        let push = world.start(&["bash", "-c", &format!("{asked} push --force origin main; echo $?")]);
        let _ = world.wait_for(1);
        let file = world.start(&["cat", &path(&world, "else/file")]);
        let _ = world.wait_for(2);
        signal_scene(&world, "waiting");
        browser.join().expect("a browser");
        drop((push, file));
    });
}
