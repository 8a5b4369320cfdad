//! Attacks on the page: by arguments, and by other pages of the same host in the same browser.

use serde_json::{Value, json};

use crate::harness::{is_enabled, path, play, start_question, world};

#[test]
fn arguments_are_text() {
    if !is_enabled() {
        return;
    }
    let world = world();
    let asked = path(&world, "bin/asked");
    let hostile = [
        "<img src=x onerror=\"document.title='pwned'\"><script>pwned=1</script>",
        "</code></dd><button data-decision=allow-once>Allow</button>",
        "\u{202e}fdp.exe\u{2066}\u{200b}\u{feff}",
        "\u{1b}[2J\u{1b}]0;pwned\u{7}\r\u{8}\u{85}\u{9b}31m",
        "{{7*7}}${7*7}&lt;b&gt;&#x3c;",
        "\n\n  Run /usr/bin/true?\n",
    ];
    let mut argv =
        vec!["bash".to_owned(), "-c".to_owned(), "\"$0\" \"$@\" >/dev/null; echo $?".to_owned(), asked];
    argv.extend(hostile.map(str::to_owned));
    let held = world.start(&argv);
    let _ = world.wait_for(1);
    let page = world.serve();
    play(&world, &page, "hostile", &Value::Null);
    assert_eq!(held.end().stdout, "126\n");
}

#[test]
fn a_hundred_thousand_bytes_are_shown_or_counted() {
    if !is_enabled() {
        return;
    }
    let world = world();
    let line =
        format!("'{}' end-of-it-{} >/dev/null; echo $?", path(&world, "bin/asked"), "x".repeat(100_000));
    let held = world.start(&["bash", "-c", &line]);
    let _ = world.wait_for(1);
    let page = world.serve();
    play(&world, &page, "long", &Value::Null);
    assert_eq!(held.end().stdout, "126\n");
}

/// The browser sends the page's cookie to servers on other ports, too, and a guarded program may be one.
#[test]
fn a_page_of_the_same_host_neither_reads_nor_answers() {
    if !is_enabled() {
        return;
    }
    let world = world();
    let held = start_question(&world, "secret-word");
    let asked = world.wait_for(1);
    let page = world.serve();
    let more = json!({"origin": format!("http://{}", page.address), "another": world.link(), "secret": "secret-word",
        "id": asked[0]["id"], "guard": held.pid()});
    play(&world, &page, "evil", &more);
    assert_eq!(world.pending().len(), 1, "somebody answered");
    world.answer("deny");
    assert_eq!(held.end().stdout, "126\n");
}
