//! Histograms of latencies, with buckets of increasing width.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::nanoseconds;

/// Counts of latencies (ns): an HDR histogram of all 64 bits with one significant digit. A bucket is at most a
/// sixteenth of its lower bound wide.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Histogram(hdrhistogram::Histogram<u64>);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram(hdrhistogram::Histogram::new_with_bounds(1, u64::MAX, 1).expect("valid bounds"))
    }
}

impl Histogram {
    /// Adds one latency.
    pub fn add(&mut self, nanoseconds: u64) {
        // Record the bucket's lower bound, because a results file keeps only that.
        self.0.saturating_record(self.0.lowest_equivalent(nanoseconds));
    }

    /// Adds all counts of another histogram.
    pub fn merge(&mut self, other: &Histogram) {
        self.0 += &other.0;
    }

    /// The number of latencies.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The lower bounds of the non-empty buckets with their counts, in increasing order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let lower = |value| self.0.lowest_equivalent(value);
        self.0.iter_recorded().map(move |step| (lower(step.value_iterated_to()), step.count_at_value()))
    }

    /// A line of bars, one for each doubling, with the bounds of the first and the last. Heights are logarithmic, so
    /// that a tail shows.
    pub fn bars(&self) -> String {
        const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let mut octaves = BTreeMap::<u32, u64>::new();
        for (bound, count) in self.buckets() {
            *octaves.entry(bound.max(1).ilog2()).or_default() += count;
        }
        let (Some((&first, _)), Some((&last, _))) = (octaves.first_key_value(), octaves.last_key_value())
        else {
            return String::new();
        };
        let most = octaves.values().max().map_or(0, |most| most.ilog2()).max(1);
        let bar = |octave| match octaves.get(&octave) {
            None => ' ',
            Some(count) => BARS[(count.ilog2() * 7 / most) as usize],
        };
        let bars: String = (first..=last).map(bar).collect();
        let bound = |octave: u32| nanoseconds(2f64.powi(octave as i32));
        format!("{} {bars} {}", bound(first), bound(last + 1))
    }
}

impl From<Vec<(u64, u64)>> for Histogram {
    fn from(buckets: Vec<(u64, u64)>) -> Histogram {
        let mut histogram = Histogram::default();
        for (bound, count) in buckets {
            histogram.0.saturating_record_n(bound, count);
        }
        histogram
    }
}

impl From<Histogram> for Vec<(u64, u64)> {
    fn from(histogram: Histogram) -> Vec<(u64, u64)> {
        histogram.buckets().collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Histogram;

    #[test]
    fn counts_come_back_from_json() {
        let mut histogram = Histogram::default();
        for value in [0, 1, 7, 8, 9, 1_000, 1_001, 1_000_000, u64::MAX] {
            histogram.add(value);
        }
        let text = serde_json::to_string(&histogram).unwrap();
        assert!(text.starts_with("[[0,1],[1,1],[7,1],[8,1],[9,1],[992,2],"), "{text}");
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
    }

    #[test]
    fn bars_show_the_tail_and_both_ends() {
        let mut histogram = Histogram::default();
        (0..1_000).for_each(|_| histogram.add(600));
        histogram.add(5_000);
        assert_eq!(histogram.bars(), "512 ns █  ▁ 8.19 µs");
        assert_eq!(Histogram::default().bars(), "");
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket(value in any::<u64>(), shift in 0u32..64) {
            let value = value >> shift;
            let mut histogram = Histogram::default();
            histogram.add(value);
            let (lower, count) = histogram.buckets().next().unwrap();
            prop_assert_eq!((histogram.buckets().count(), count), (1, 1));
            prop_assert!(lower <= value && value - lower <= value / 16);
        }

        #[test]
        fn merging_is_counting_all(left in prop::collection::vec(any::<u32>(), 0..50), right in prop::collection::vec(any::<u32>(), 0..50)) {
            let of = |values: &[u32]| {
                let mut histogram = Histogram::default();
                values.iter().for_each(|value| histogram.add(u64::from(*value)));
                histogram
            };
            let mut merged = of(&left);
            merged.merge(&of(&right));
            prop_assert_eq!(merged, of(&[left, right].concat()));
        }
    }
}
