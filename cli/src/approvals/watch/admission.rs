//! What of those who connect is let pass. It is told the time.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use guard_approvals::routes::openclaw_socket::{Problem, SocketToken};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

/// How far a request's time may be from ours, in milliseconds, as in OpenClaw.
pub const TTL_MS: i64 = 10_000;
/// So long the nonce of a request is known: no request of that time passes after it.
const MEMORY_INTERVAL: Duration = Duration::from_millis(2 * TTL_MS as u64 + 1000);
/// Nonces that are known at a time; beyond that nothing passes.
const MAX_NONCES: usize = 4096;
/// Requests of a process at once, and a second.
const BURST: f64 = 128.0;
const A_SECOND: f64 = 20.0;
/// Processes whose rate is known at a time.
const MAX_RATES: usize = 1024;
/// Connections of a process at a time. A guard has 64.
const MAX_OF_ONE: usize = 96;

/// What is remembered of those who connect.
#[derive(Debug)]
pub struct Admission {
    token: SocketToken,
    /// Each until when.
    nonces: HashMap<String, Instant>,
    rates: HashMap<i32, Rate>,
    open: BTreeMap<i32, usize>,
}

/// A bucket of requests that may come.
#[derive(Clone, Copy, Debug)]
struct Rate {
    left: f64,
    at: Instant,
}

impl Rate {
    fn at(self, now: Instant) -> Rate {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        Rate { left: (self.left + passed * A_SECOND).min(BURST), at: now }
    }
}

impl Admission {
    /// For those who have this token.
    pub fn new(token: SocketToken) -> Admission {
        Admission { token, nonces: HashMap::new(), rates: HashMap::new(), open: BTreeMap::new() }
    }

    /// Whether one more connection of a process is let in; it has to [`Admission::disconnected`] then.
    pub fn enter(&mut self, pid: i32) -> bool {
        let open = self.open.entry(pid).or_default();
        let may = *open < MAX_OF_ONE;
        if may {
            *open += 1;
        }
        may
    }

    /// A connection of a process has ended.
    pub fn disconnected(&mut self, pid: i32) {
        if let Some(open) = self.open.get_mut(&pid) {
            *open -= 1;
            if *open == 0 {
                self.open.remove(&pid);
            }
        }
    }

    /// Whether one more request of a process is looked at.
    pub fn admit_request(&mut self, pid: i32, now: Instant) -> bool {
        if !self.rates.contains_key(&pid) && self.rates.len() >= MAX_RATES {
            self.rates.retain(|_, rate| rate.at(now).left < BURST);
            if self.rates.len() >= MAX_RATES {
                return false;
            }
        }
        let rate = self.rates.entry(pid).or_insert(Rate { left: BURST, at: now });
        *rate = rate.at(now);
        let may = rate.left >= 1.0;
        if may {
            rate.left -= 1.0;
        }
        may
    }

    /// Whether this is the token.
    pub fn knows(&self, token: &str) -> bool {
        self.token.is(token)
    }

    /// Whether a request to run something is what somebody with the token has just written, and for the first time.
    ///
    /// # Errors
    /// In OpenClaw's words, where it has them.
    pub fn signed(
        &mut self,
        (nonce, ts, hmac): (&str, i64, &str),
        request_json: &str,
        (now_ms, now): (i64, Instant),
    ) -> Result<(), Problem> {
        let wrong = |message: &str, reason: &str| Problem::new("INVALID_REQUEST", message, Some(reason));
        if now_ms.saturating_sub(ts).saturating_abs() > TTL_MS {
            return Err(wrong("expired request", "ttl"));
        }
        let given = hex(hmac).ok_or_else(|| wrong("invalid auth", "hmac"))?;
        let mut mac = Hmac::<Sha256>::new_from_slice(self.token.text().as_bytes())
            .map_err(|_| wrong("invalid auth", "hmac"))?;
        mac.update(format!("{nonce}:{ts}:").as_bytes());
        mac.update(request_json.as_bytes());
        // In a time that says nothing of where they differ.
        mac.verify_slice(&given).map_err(|_| wrong("invalid auth", "hmac"))?;
        self.nonces.retain(|_, until| *until > now);
        if self.nonces.contains_key(nonce) {
            return Err(wrong("replayed request", "nonce"));
        }
        if self.nonces.len() >= MAX_NONCES {
            return Err(wrong("too many requests", "nonce"));
        }
        self.nonces.insert(nonce.to_owned(), now + MEMORY_INTERVAL);
        match serde_json::from_str::<Value>(request_json) {
            Ok(request) if request["command"].is_array() => Ok(()),
            _ => Err(wrong("invalid payload", "json")),
        }
    }
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text.chars().map(|digit| Some(digit.to_digit(16)? as u8)).collect();
    let digits = digits.filter(|digits| digits.len() == 64)?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
