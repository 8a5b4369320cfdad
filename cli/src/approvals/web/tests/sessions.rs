//! A link opens once, and only for a time; a session needs both of its secrets.

use std::time::{Duration, Instant};

use super::super::sessions::{LINK_TIMEOUT, Opened, Sessions};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn open(sessions: &mut Sessions, now: Instant) -> Opened {
    let token = sessions.link(now);
    sessions.open(token.text(), now).expect("a link opens")
}

#[test]
fn a_link_opens_once() {
    let (mut sessions, now) = (Sessions::default(), Instant::now());
    let token = sessions.link(now);
    let other = sessions.link(now);
    assert_ne!(token.text(), other.text());
    assert_eq!(token.text().len(), 64);
    let near = format!("{}0", &token.text()[..63]);
    let upper = token.text().to_uppercase();
    for wrong in ["", "0", &token.text()[..63], &near, &upper, &format!("{}0", token.text())] {
        if wrong != token.text() {
            assert!(sessions.open(wrong, now).is_none(), "{wrong}");
        }
    }
    assert!(sessions.open(token.text(), now).is_some());
    assert!(sessions.open(token.text(), now).is_none());
    assert!(sessions.open(other.text(), now).is_some());
}

#[test]
fn a_link_grows_old() {
    let (mut sessions, now) = (Sessions::default(), Instant::now());
    let token = sessions.link(now);
    assert!(sessions.open(token.text(), now + LINK_TIMEOUT).is_none());
    let token = sessions.link(now);
    assert!(sessions.open(token.text(), now + LINK_TIMEOUT - Duration::from_millis(1)).is_some());
}

#[test]
fn neither_half_opens_anything_alone() {
    let (mut sessions, now) = (Sessions::default(), Instant::now());
    let Opened { cookie, key } = open(&mut sessions, now);
    let other = open(&mut sessions, now);
    assert!(sessions.knows(cookie.text(), now) && !sessions.knows(key.text(), now));
    let halves = [cookie.text(), key.text(), other.cookie.text(), other.key.text(), ""];
    for one in halves {
        for two in halves {
            let is_right = (one == cookie.text() && two == key.text())
                || (one == other.cookie.text() && two == other.key.text());
            assert_eq!(sessions.find(one, two, now).is_some(), is_right);
        }
    }
}

#[test]
fn sessions_end() {
    let (mut sessions, now) = (Sessions::default(), Instant::now());
    let Opened { cookie, key } = open(&mut sessions, now);
    let mut found = sessions.find(cookie.text(), key.text(), now).expect("a session");
    // A session whose page is open lasts.
    assert!(sessions.knows(cookie.text(), now + DAY));
    sessions.end(&found);
    assert!(!sessions.knows(cookie.text(), now));
    assert!(found.alive.has_changed().is_err(), "whoever listens is told");
    found.alive.mark_unchanged();
    // An unused session ends.
    let Opened { cookie, key } = open(&mut sessions, now);
    drop(sessions.find(cookie.text(), key.text(), now));
    assert!(sessions.knows(cookie.text(), now + DAY / 4));
    assert!(!sessions.knows(cookie.text(), now + DAY));
    assert!(sessions.find(cookie.text(), key.text(), now).is_none());
}

#[test]
fn the_number_of_sessions_is_limited() {
    let (mut sessions, now) = (Sessions::default(), Instant::now());
    let first = open(&mut sessions, now);
    let more: Vec<_> = (0..16).map(|_| open(&mut sessions, now)).collect();
    assert!(!sessions.knows(first.cookie.text(), now));
    assert!(more.iter().all(|one| sessions.knows(one.cookie.text(), now)));
    let first = sessions.link(now);
    let last = (0..16).map(|_| sessions.link(now)).last().expect("links");
    assert!(sessions.open(first.text(), now).is_none());
    assert!(sessions.open(last.text(), now).is_some());
}

#[test]
fn debug_output_contains_no_secrets() {
    let (mut sessions, now) = (Sessions::default(), Instant::now());
    let token = sessions.link(now);
    let opened = open(&mut sessions, now);
    let printed = format!("{sessions:?} {token:?} {opened:?}");
    for secret in [&token, &opened.cookie, &opened.key] {
        assert!(!printed.contains(secret.text()), "{printed}");
    }
}
