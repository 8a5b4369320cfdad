//! Formats measured values with their units, for humans.

/// A time with its unit.
pub fn nanoseconds(value: f64) -> String {
    let (value, unit) = match value {
        small if small < 1e3 => (small, "ns"),
        micro if micro < 1e6 => (micro / 1e3, "µs"),
        milli if milli < 1e9 => (milli / 1e6, "ms"),
        long => (long / 1e9, "s"),
    };
    let digits = if unit == "ns" || value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::nanoseconds;

    #[test]
    fn times_have_units() {
        let texts = [42.4, 999.0, 1_234.0, 45_600.0, 1e6, 1.5e9, 123_456.0].map(nanoseconds);
        assert_eq!(texts, ["42 ns", "999 ns", "1.23 µs", "45.6 µs", "1.00 ms", "1.50 s", "123 µs"]);
    }
}
