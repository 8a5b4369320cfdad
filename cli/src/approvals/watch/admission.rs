//! Rate limits and authentication for peers of the approvals socket. Callers pass the current time.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use guard_approvals::routes::openclaw_socket::{Problem, SocketToken};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

/// How far a request's timestamp may differ from our clock, in milliseconds (same as OpenClaw).
pub const MAX_CLOCK_SKEW_MS: i64 = 10_000;
/// How long a request's nonce is remembered. By then the timestamp of a replay is out of range.
const NONCE_LIFETIME: Duration = Duration::from_millis(2 * MAX_CLOCK_SKEW_MS as u64 + 1000);
/// How many nonces are remembered; when there are more, every request is refused.
const MAX_NONCES: usize = 4096;
/// How many requests a process may send in a burst, and per second.
const BURST: f64 = 128.0;
const A_SECOND: f64 = 20.0;
/// How many processes have their rate tracked.
const MAX_RATES: usize = 1024;
/// How many connections a process may hold. A guard uses up to 64.
const MAX_OF_ONE: usize = 96;

/// Tracks the peers' nonces, rates and connections.
#[derive(Debug)]
pub struct Admission {
    token: SocketToken,
    /// Each nonce and when it is forgotten.
    nonces: HashMap<String, Instant>,
    rates: HashMap<i32, Rate>,
    open: BTreeMap<i32, usize>,
}

/// A token bucket that limits requests.
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
    /// Admits peers that know this token.
    pub fn new(token: SocketToken) -> Admission {
        Admission { token, nonces: HashMap::new(), rates: HashMap::new(), open: BTreeMap::new() }
    }

    /// Counts a new connection of a process; returns false when it has too many. After true, call
    /// [`Admission::disconnected`] when the connection ends.
    pub fn enter(&mut self, pid: i32) -> bool {
        let open = self.open.entry(pid).or_default();
        let may = *open < MAX_OF_ONE;
        if may {
            *open += 1;
        }
        may
    }

    /// Removes a connection of a process from its count.
    pub fn disconnected(&mut self, pid: i32) {
        if let Some(open) = self.open.get_mut(&pid) {
            *open -= 1;
            if *open == 0 {
                self.open.remove(&pid);
            }
        }
    }

    /// Counts a request of a process; returns false when it exceeds its rate.
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

    /// Checks that a request to run something is signed with the token, recent, and not a replay.
    ///
    /// # Errors
    /// Why the request is refused, in OpenClaw's words if it has words for that.
    pub fn signed(
        &mut self,
        (nonce, ts, hmac): (&str, i64, &str),
        request_json: &str,
        (now_ms, now): (i64, Instant),
    ) -> Result<(), Problem> {
        let wrong = |message: &str, reason: &str| Problem::new("INVALID_REQUEST", message, Some(reason));
        if now_ms.saturating_sub(ts).saturating_abs() > MAX_CLOCK_SKEW_MS {
            return Err(wrong("expired request", "ttl"));
        }
        let given = hex(hmac).ok_or_else(|| wrong("invalid auth", "hmac"))?;
        let mut mac = Hmac::<Sha256>::new_from_slice(self.token.text().as_bytes())
            .map_err(|_| wrong("invalid auth", "hmac"))?;
        mac.update(format!("{nonce}:{ts}:").as_bytes());
        mac.update(request_json.as_bytes());
        // `verify_slice` takes the same time wherever the two values differ.
        mac.verify_slice(&given).map_err(|_| wrong("invalid auth", "hmac"))?;
        self.nonces.retain(|_, until| *until > now);
        if self.nonces.contains_key(nonce) {
            return Err(wrong("replayed request", "nonce"));
        }
        if self.nonces.len() >= MAX_NONCES {
            return Err(wrong("too many requests", "nonce"));
        }
        self.nonces.insert(nonce.to_owned(), now + NONCE_LIFETIME);
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
