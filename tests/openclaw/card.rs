//! The real Control UI, in a browser: it shows what a guard asks, and a click answers.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use guard_tests::gateway::{Client, Gateway, Login, Release, gateway, node, package};
use guard_tests::{World, ended, has, sources};
use serde_json::Value;

use crate::world::{eventually, path, world_with};

for_each_release! { the_control_ui_shows_and_answers }

/// Opens a page in a browser, which then creates `opened`, and clicks a card's button. Returns the output.
fn click(gateway: &Gateway, page: &str, command: &str, picture: &Path, opened: &Path) -> String {
    let mut browser = Command::new(node());
    browser.arg(sources().join("openclaw/card.mjs")).arg(package("playwright-core", None).join("index.js"));
    browser.arg(format!("http://127.0.0.1:{}{page}#token={}", gateway.port(), gateway.token()));
    browser.args([command.as_ref(), picture.as_os_str(), "Allow once".as_ref(), opened.as_os_str()]);
    let output = ended(browser.env("HOME", gateway.home()).stdin(Stdio::null()));
    assert_eq!(output.status, 0, "{output:?}");
    output.stdout
}

/// Returns the path of the picture: in GUARD_PICTURES, or in the world, which does not last.
fn picture(world: &World, release: Release) -> PathBuf {
    let directory = std::env::var_os("GUARD_PICTURES").filter(|path| !path.is_empty()).map(PathBuf::from);
    directory.unwrap_or_else(|| world.root()).join(format!("gateway-card-{}.png", release.version()))
}

fn the_control_ui_shows_and_answers(release: Release) {
    let Some(gateway) = gateway(release) else { return };
    if !has(&["chromium"]) {
        return;
    }
    // The route `cli` keeps the question pending while the browser starts.
    let world = world_with(&gateway, r#"["cli", "gateway"]"#, 300_000);
    let (asked, picture) = (path(&world, "bin/asked"), picture(&world, release));
    let opened = world.root().join("opened");
    let start = || world.start(&["bash", "-c", &format!("{asked} push --force; echo $?")]);
    let click = |page: &str| click(&gateway, page, "push --force", &picture, &opened);
    let (held, output) = match release {
        Release::Current => {
            let held = start();
            let id = card(&gateway, &asked)["id"].as_str().expect("an id").to_owned();
            (held, click(&format!("/approve/{id}")))
        }
        // The older release has no page for a card, but shows it over an open chat.
        Release::Older => thread::scope(|scope| {
            let browser = scope.spawn(|| click("/chat"));
            eventually("the page is open", || browser.is_finished() || opened.exists());
            (start(), browser.join().expect("a click"))
        }),
    };
    assert!(
        output.contains(&format!("{asked} push --force")) && output.contains("openclaw-guard"),
        "{output}"
    );
    if release == Release::Current {
        assert!(output.contains("not in the allowlist"), "{output}");
    }
    assert_eq!(held.end().stdout, "push --force\n0\n");
    let size = std::fs::metadata(&picture).expect("a picture").len();
    assert!((5_000..200_000).contains(&size), "{size} bytes");
}

/// Waits for a program's card on the gateway, and returns it. This client does not count as an approver.
fn card(gateway: &Gateway, asked: &str) -> Value {
    let login = Login { caps: Vec::new(), ..Login::approver(gateway.token()) };
    let looks = Client::connect(gateway.port(), &login).expect("to be let in");
    let mut found = Vec::new();
    eventually("the card is there", || {
        found = looks.pending();
        found.retain(|card| card.to_string().contains(asked));
        found.len() == 1
    });
    found.remove(0)
}
