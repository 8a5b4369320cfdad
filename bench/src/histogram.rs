//! Latencies by size, in buckets that grow with them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Buckets in one doubling, as a power of two: a bucket is at most an eighth of its lower bound wide.
const FINE: u32 = 3;

/// How many latencies (ns) were of which size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(u64, u64)>", into = "Vec<(u64, u64)>")]
pub struct Histogram(BTreeMap<u64, u64>);

impl Histogram {
    /// Counts one latency.
    pub fn add(&mut self, nanoseconds: u64) {
        *self.0.entry(bucket(nanoseconds)).or_default() += 1;
    }

    /// Counts what another one has counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (bucket, count) in &other.0 {
            *self.0.entry(*bucket).or_default() += count;
        }
    }

    /// Lower bounds of the buckets that are not empty, with their counts, from small to large.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(bucket, count)| (lower(*bucket), *count))
    }

    /// A line of bars, one for each doubling, with the bounds of the first and the last. A bar's height is the logarithm
    /// of its count, so that a tail shows.
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
        let (least, most) =
            (super::report::nanoseconds(bounds(first)), super::report::nanoseconds(bounds(last + 1)));
        format!("{least} {bars} {most}")
    }
}

fn bounds(octave: u32) -> f64 {
    2f64.powi(octave as i32)
}

impl From<Vec<(u64, u64)>> for Histogram {
    fn from(buckets: Vec<(u64, u64)>) -> Histogram {
        let mut histogram = Histogram::default();
        for (bound, count) in buckets {
            *histogram.0.entry(bucket(bound)).or_default() += count;
        }
        histogram
    }
}

impl From<Histogram> for Vec<(u64, u64)> {
    fn from(histogram: Histogram) -> Vec<(u64, u64)> {
        histogram.buckets().collect()
    }
}

/// The bucket of a value: below 8 each value has its own, above each doubling has eight.
fn bucket(value: u64) -> u64 {
    if value < 1 << FINE {
        return value;
    }
    let shift = value.ilog2() - FINE;
    (u64::from(shift) << FINE) + (value >> shift)
}

/// The smallest value of a bucket.
fn lower(bucket: u64) -> u64 {
    if bucket < 1 << FINE {
        return bucket;
    }
    let shift = (bucket >> FINE) - 1;
    ((1 << FINE) + (bucket & ((1 << FINE) - 1))) << shift
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Histogram, bucket, lower};

    #[test]
    fn counts_come_back_from_json() {
        let mut histogram = Histogram::default();
        for value in [0, 1, 7, 8, 9, 1_000, 1_001, 1_000_000, u64::MAX] {
            histogram.add(value);
        }
        let text = serde_json::to_string(&histogram).unwrap();
        assert!(text.starts_with("[[0,1],[1,1],[7,1],[8,1],[9,1],[960,2],"), "{text}");
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
            let bucket = bucket(value);
            prop_assert!(lower(bucket) <= value);
            // The last bucket ends at the last value.
            if value < 0xf000_0000_0000_0000 {
                prop_assert!(value < lower(bucket + 1));
            }
            prop_assert!(value - lower(bucket) <= value / 8);
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
