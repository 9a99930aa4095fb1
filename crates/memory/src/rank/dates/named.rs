//! Stretches of the year that have a name: seasons and the feasts that people date by.

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

use crate::rank::dates::DateRange;

/// The season that began in this year; in months, as people mean it.
pub(super) fn season(word: &str, year: i16) -> Option<DateRange> {
    let first = match word {
        "spring" | "springtime" | "fruhling" | "fruhjahr" => 3,
        "summer" | "sommer" => 6,
        "autumn" | "fall" | "herbst" => 9,
        "winter" => 12,
        _ => return None,
    };
    let from = Date::new(year, first, 1).ok()?;
    Some(DateRange { from, to: from.checked_add(2.months()).ok()?.last_of_month() })
}

pub(super) fn feast(word: &str, year: i16) -> Option<DateRange> {
    let fixed = |month, from, to| {
        Some(DateRange { from: Date::new(year, month, from).ok()?, to: Date::new(year, month, to).ok()? })
    };
    match word {
        "christmas" | "xmas" | "weihnachten" => fixed(12, 24, 26),
        "heiligabend" => fixed(12, 24, 24),
        "silvester" => fixed(12, 31, 31),
        "neujahr" => fixed(1, 1, 1),
        "valentine" | "valentines" | "valentinstag" => fixed(2, 14, 14),
        "halloween" => fixed(10, 31, 31),
        "thanksgiving" => {
            let day = Date::new(year, 11, 1).ok()?.nth_weekday_of_month(4, Weekday::Thursday).ok()?;
            Some(DateRange { from: day, to: day })
        }
        "easter" | "ostern" => {
            let sunday = easter(year)?;
            Some(DateRange { from: sunday.checked_sub(2.days()).ok()?, to: sunday.checked_add(1.day()).ok()? })
        }
        _ => None,
    }
}

/// Easter Sunday, after Gauss.
fn easter(year: i16) -> Option<Date> {
    let year = i32::from(year);
    let (golden, century) = (year % 19, year / 100);
    let shift = (century - century / 4 - (8 * century + 13) / 25 + 19 * golden + 15) % 30;
    let moon = shift - (shift / 28) * (1 - (29 / (shift + 1)) * ((21 - golden) / 11));
    let weekday = (year + year / 4 + moon + 2 - century + century / 4) % 7;
    let offset = moon - weekday;
    let month = 3 + (offset + 40) / 44;
    let day = offset + 28 - 31 * (month / 4);
    Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn e5_easter_is_known() {
        for sunday in [date(1961, 4, 2), date(2000, 4, 23), date(2008, 3, 23), date(2024, 3, 31), date(2025, 4, 20)] {
            assert_eq!(easter(sunday.year()), Some(sunday));
        }
    }

    #[test]
    fn e5_seasons_and_feasts_have_their_days() {
        assert_eq!(season("winter", 2023), Some(DateRange { from: date(2023, 12, 1), to: date(2024, 2, 29) }));
        assert_eq!(season("fall", 2023), Some(DateRange { from: date(2023, 9, 1), to: date(2023, 11, 30) }));
        assert_eq!(feast("thanksgiving", 2024), Some(DateRange { from: date(2024, 11, 28), to: date(2024, 11, 28) }));
        assert_eq!(feast("ostern", 2025), Some(DateRange { from: date(2025, 4, 18), to: date(2025, 4, 21) }));
        assert_eq!(season("dog", 2023), None);
        assert_eq!(feast("dog", 2023), None);
    }
}
