//! The wait before something is tried again.

use std::time::Duration;

use crate::ids;

/// A wait that doubles with each attempt. Up to half of it is random, so that not all guards reconnect at the
/// same time.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    bounds: [Duration; 2],
    next: Duration,
}

impl Pause {
    /// Creates a wait that grows from the first bound to the second.
    pub const fn new(bounds: [Duration; 2]) -> Pause {
        Pause { bounds, next: bounds[0] }
    }

    /// Returns the next wait.
    pub fn next_wait(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.bounds[1]);
        let chance = (ids::random().as_u128() % 1000) as u32;
        pause / 2 + pause / 2 * chance / 1000
    }

    /// Starts with the shortest wait again, after a success.
    pub fn reset(&mut self) {
        self.next = self.bounds[0];
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Pause;

    #[test]
    fn the_pause_doubles_up_to_its_limit() {
        let [first, longest] = [500, 8000].map(Duration::from_millis);
        let mut pause = Pause::new([first, longest]);
        for expected in [500, 1000, 2000, 4000, 8000, 8000].map(Duration::from_millis) {
            let taken = pause.next_wait();
            assert!(expected / 2 <= taken && taken <= expected, "{taken:?}");
        }
        pause.reset();
        assert!(pause.next_wait() <= first);
    }
}
