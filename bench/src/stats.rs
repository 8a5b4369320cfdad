//! Statistics of many measurements.

/// The median: the mean of the two middle values if their number is even. `None` without values.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(sorted[middle - 1].midpoint(sorted[middle])),
    }
}

/// The smallest value that at least this share of the values does not exceed (nearest rank). `None` without values.
pub fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let sorted = sorted(values);
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).or(sorted.last()).copied()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{median, quantile};

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), Some(3.0));
    }

    #[test]
    fn a_quantile_is_one_of_the_values() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(quantile(&values, 0.5), Some(50.0));
        assert_eq!(quantile(&values, 0.99), Some(99.0));
        assert_eq!(quantile(&values, 1.0), Some(100.0));
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&[7.0], 0.99), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    proptest! {
        #[test]
        fn the_share_below_a_quantile_is_what_was_asked(
            values in prop::collection::vec(0u32..1000, 1..200),
            percent in 1u32..=100,
        ) {
            let values: Vec<f64> = values.into_iter().map(f64::from).collect();
            let share = f64::from(percent) / 100.0;
            let found = quantile(&values, share).unwrap();
            let (needed, count) = (share * values.len() as f64, |below: &dyn Fn(f64) -> bool| {
                values.iter().filter(|value| below(**value)).count() as f64
            });
            prop_assert!(count(&|value| value <= found) >= needed - 1e-9);
            prop_assert!(count(&|value| value < found) < needed);
        }
    }
}
