//! Which requests are admitted.

use std::time::{Duration, Instant};

use guard_approvals::routes::openclaw_socket::SocketToken;
use proptest::prelude::*;
use serde_json::Value;

use super::super::admission::{Admission, MAX_CLOCK_SKEW_MS};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../policy/tests/data/exec-host-hmac.json");

struct Vector {
    token: String,
    nonce: String,
    ts: i64,
    json: String,
    hmac: String,
}

fn vector() -> Vector {
    let value: Value = serde_json::from_str(&std::fs::read_to_string(DATA).unwrap()).unwrap();
    let text = |key: &str| value[key].as_str().unwrap().to_owned();
    Vector {
        token: text("token"),
        nonce: text("nonce"),
        ts: value["ts"].as_i64().unwrap(),
        json: text("requestJson"),
        hmac: text("hmac"),
    }
}

impl Vector {
    fn admission(&self) -> Admission {
        Admission::new(SocketToken::new(&self.token))
    }

    fn reason(&self, admission: &mut Admission, now_ms: i64, now: Instant) -> Option<String> {
        let signed = admission.signed((&self.nonce, self.ts, &self.hmac), &self.json, (now_ms, now));
        signed.err().map(|problem| {
            assert_eq!(problem.code, "INVALID_REQUEST");
            problem.reason.unwrap()
        })
    }
}

#[test]
fn the_hmac_is_openclaws() {
    let vector = vector();
    assert_eq!(vector.reason(&mut vector.admission(), vector.ts, Instant::now()), None);
    println!("exec-host-hmac.json: 1 of 1");
}

#[test]
fn any_change_of_a_signed_request_is_rejected() {
    let reason = |change: fn(&mut Vector)| {
        let mut other = vector();
        change(&mut other);
        let now = other.ts;
        other.reason(&mut other.admission(), now, Instant::now()).unwrap()
    };
    assert_eq!(reason(|vector| vector.token.push('x')), "hmac");
    assert_eq!(reason(|vector| vector.nonce.push('0')), "hmac");
    assert_eq!(reason(|vector| vector.ts += 1), "hmac");
    assert_eq!(reason(|vector| vector.json.push(' ')), "hmac");
    assert_eq!(reason(|vector| vector.hmac.clear()), "hmac");
    assert_eq!(reason(|vector| vector.hmac.truncate(62)), "hmac");
    assert_eq!(reason(|vector| vector.hmac.push_str("00")), "hmac");
    assert_eq!(reason(|vector| vector.hmac = "é".repeat(32)), "hmac");
}

#[test]
fn only_recent_timestamps_pass() {
    let vector = vector();
    for (away, reason) in [
        (0, None),
        (MAX_CLOCK_SKEW_MS, None),
        (-MAX_CLOCK_SKEW_MS, None),
        (MAX_CLOCK_SKEW_MS + 1, Some("ttl")),
        (-MAX_CLOCK_SKEW_MS - 1, Some("ttl")),
        (i64::MAX - vector.ts, Some("ttl")),
    ] {
        let found = vector.reason(&mut vector.admission(), vector.ts + away, Instant::now());
        assert_eq!(found.as_deref(), reason, "{away}");
    }
    let ancient = Vector { ts: i64::MIN, ..super::admission::vector() };
    assert_eq!(
        ancient.reason(&mut ancient.admission(), ancient.ts.wrapping_sub(1), Instant::now()).unwrap(),
        "ttl"
    );
}

#[test]
fn a_nonce_passes_once_while_its_time_lasts() {
    let (vector, mut now) = (vector(), Instant::now());
    let mut admission = vector.admission();
    // A request with a bad signature does not use up the nonce.
    let forged = Vector { hmac: "0".repeat(64), ..super::admission::vector() };
    assert_eq!(forged.reason(&mut admission, vector.ts, now).unwrap(), "hmac");
    let mut now_ms = vector.ts - MAX_CLOCK_SKEW_MS;
    assert_eq!(vector.reason(&mut admission, now_ms, now), None);
    while now_ms <= vector.ts + MAX_CLOCK_SKEW_MS {
        assert_eq!(vector.reason(&mut admission, now_ms, now).unwrap(), "nonce");
        now_ms += 500;
        now += Duration::from_millis(500);
    }
    assert_eq!(vector.reason(&mut admission, now_ms, now).unwrap(), "ttl");
}

#[test]
fn signed_text_that_is_no_request_is_rejected() {
    use hmac::{Hmac, KeyInit, Mac};
    for json in ["", "no", "{}", "{\"command\":\"ls\"}", "[]", "\u{0}"] {
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"tok").unwrap();
        mac.update(format!("n:5:{json}").as_bytes());
        let hmac = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let (token, nonce) = ("tok".to_owned(), "n".to_owned());
        let signed = Vector { token, nonce, ts: 5, json: json.to_owned(), hmac };
        assert_eq!(signed.reason(&mut signed.admission(), 5, Instant::now()).unwrap(), "json", "{json}");
    }
}

#[test]
fn one_process_cannot_use_up_the_request_limit() {
    let mut admission = vector().admission();
    let now = Instant::now();
    assert_eq!((0..1000).filter(|_| admission.admit_request(1, now)).count(), 128);
    assert!(admission.admit_request(2, now));
    let later = now + Duration::from_secs(1);
    assert_eq!((0..1000).filter(|_| admission.admit_request(1, later)).count(), 20);
    // One process cannot hold all connections either.
    assert_eq!((0..1000).filter(|_| admission.enter(1)).count(), 96);
    assert!(admission.enter(2));
    admission.disconnected(1);
    assert!(admission.enter(1) && !admission.enter(1));
    // The table of rates is bounded.
    let mut admission = vector().admission();
    assert_eq!((0..5000).filter(|pid| admission.admit_request(*pid, now)).count(), 1024);
    assert!(admission.admit_request(5000, now + Duration::from_secs(60)));
}

proptest! {
    #[test]
    fn no_other_hmac_passes(at in 0usize..64, to in "[0-9a-f]") {
        let mut other = vector();
        let before = other.hmac.clone();
        other.hmac.replace_range(at..=at, &to);
        let found = other.reason(&mut other.admission(), other.ts, Instant::now());
        prop_assert_eq!(found.is_none(), other.hmac == before);
    }
}
