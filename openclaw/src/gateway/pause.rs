//! How long to wait until something is tried again.

use std::time::Duration;

use crate::ids;

/// Doubles from one attempt to the other. Up to half of it is left to chance, so that many guards do not come back at once.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    bounds: [Duration; 2],
    next: Duration,
}

impl Pause {
    /// From the first of these to the second.
    pub const fn new(bounds: [Duration; 2]) -> Pause {
        Pause { bounds, next: bounds[0] }
    }

    /// The next one.
    pub fn take(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(self.bounds[1]);
        let chance = (ids::random().as_u128() % 1000) as u32;
        pause / 2 + pause / 2 * chance / 1000
    }

    /// It has worked: from the beginning again.
    pub fn reset(&mut self) {
        self.next = self.bounds[0];
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Pause;

    #[test]
    fn it_doubles_up_to_its_longest() {
        let [first, longest] = [500, 8000].map(Duration::from_millis);
        let mut pause = Pause::new([first, longest]);
        for expected in [500, 1000, 2000, 4000, 8000, 8000].map(Duration::from_millis) {
            let taken = pause.take();
            assert!(expected / 2 <= taken && taken <= expected, "{taken:?}");
        }
        pause.reset();
        assert!(pause.take() <= first);
    }
}
