//! Money, in whole numbers: sums add up.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Billionths of a dollar in one.
const NANOS: u64 = 1_000_000_000;

/// An amount of US dollars, in billionths: one token at a cent per million is ten of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Money(i64);

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// So many billionths of a dollar.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// In billionths of a dollar.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// So many dollars; what is no amount of money is nothing.
    #[expect(clippy::cast_possible_truncation, reason = "a float beyond an i64 saturates")]
    pub fn from_usd(usd: f64) -> Self {
        Self((usd * NANOS as f64).round() as i64)
    }

    /// The `percent`th part of a hundred.
    #[must_use]
    pub fn percent(self, percent: i64) -> Self {
        Self((self.0 / 100).saturating_mul(percent).saturating_add(self.0 % 100 * percent / 100))
    }

    /// Both together; what is too much stays the most there is.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Money {
    /// Cents, and as many digits more as it takes to show two that are not zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        let decimals = (2_u32..9).find(|decimals| nanos >= 10_u64.pow(10 - decimals)).unwrap_or(9);
        let unit = 10_u64.pow(9 - decimals);
        // Zero has two decimals, not nine.
        let decimals = if nanos == 0 { 2 } else { decimals };
        let rounded = nanos.saturating_add(unit / 2) / unit * unit;
        let fraction = format!("{:09}", rounded % NANOS);
        let fraction = fraction.get(..decimals as usize).unwrap_or(&fraction);
        let cents = fraction.get(..2).unwrap_or(fraction);
        let rest = fraction.get(2..).unwrap_or_default().trim_end_matches('0');
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}${}.{cents}{rest}", rounded / NANOS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_shares_stay_numbers() {
        let most = Money::from_nanos(i64::MAX);
        assert_eq!(most.plus(most), most);
        assert_eq!(Money::from_usd(5.0).percent(80), Money::from_usd(4.0));
        assert_eq!(Money::from_nanos(7).percent(80), Money::from_nanos(5));
        assert_eq!(Money::from_usd(f64::NAN), Money::ZERO);
        assert_eq!(Money::from_usd(f64::INFINITY), most);
    }

    #[test]
    fn people_read_two_digits_at_least() {
        let table = [
            (0, "$0.00"),
            (1, "$0.000000001"),
            (10, "$0.00000001"),
            (12_345, "$0.000012"),
            (4_200_000, "$0.0042"),
            (4_000_000, "$0.004"),
            (42_000_000, "$0.042"),
            (99_900_000, "$0.10"),
            (100_000_000, "$0.10"),
            (999_000_000, "$1.00"),
            (1_234_567_890, "$1.23"),
            (1_995_000_000, "$2.00"),
            (-4_200_000, "-$0.0042"),
            (i64::MAX, "$9223372036.85"),
            (i64::MIN, "-$9223372036.85"),
        ];
        for (nanos, shown) in table {
            assert_eq!(Money::from_nanos(nanos).to_string(), shown);
        }
        assert_eq!(Money::from_nanos(i64::MAX).plus(Money::from_nanos(1)), Money::from_nanos(i64::MAX));
    }
}
