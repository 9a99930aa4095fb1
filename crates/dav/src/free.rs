//! When nobody is busy. Pure.

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan as _};

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub struct FreeTimeQuery {
    /// The first day.
    pub first: Date,
    pub days: i64,
    /// From when on each day.
    pub opens: Time,
    /// Until when.
    pub closes: Time,
    /// At least so long.
    pub least: SignedDuration,
    /// Not before this.
    pub now: Timestamp,
}

/// The stretches in which none of these is.
pub fn free(busy: &[(Timestamp, Timestamp)], wanted: &FreeTimeQuery, home: &TimeZone) -> Vec<(Timestamp, Timestamp)> {
    let mut busy = busy.to_vec();
    busy.sort_unstable();
    let mut found = Vec::new();
    for day in 0..wanted.days {
        let Ok(day) = wanted.first.checked_add(day.days()) else { break };
        let at = |time: Time| day.to_datetime(time).to_zoned(home.clone()).map(|at| at.timestamp());
        let (Ok(opens), Ok(closes)) = (at(wanted.opens), at(wanted.closes)) else { continue };
        let mut from = opens.max(wanted.now);
        for (start, end) in busy.iter().filter(|(start, end)| *start < closes && *end > opens) {
            if start.duration_since(from) >= wanted.least {
                found.push((from, *start));
            }
            from = from.max(*end);
        }
        if closes.duration_since(from) >= wanted.least {
            found.push((from, closes));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_what_nobody_has_taken_is_free() {
        let home = TimeZone::get("Europe/Berlin").unwrap();
        let at =
            |text: &str| text.parse::<jiff::civil::DateTime>().unwrap().to_zoned(home.clone()).unwrap().timestamp();
        let busy = [
            (at("2026-12-03T14:00"), at("2026-12-03T15:00")),
            (at("2026-12-03T09:30"), at("2026-12-03T11:00")),
            (at("2026-12-03T10:00"), at("2026-12-03T10:30")),
            (at("2026-12-04T00:00"), at("2026-12-05T00:00")),
        ];
        let time = |hour| Time::new(hour, 0, 0, 0).unwrap();
        let wanted = FreeTimeQuery {
            first: "2026-12-03".parse().unwrap(),
            days: 3,
            opens: time(9),
            closes: time(18),
            least: SignedDuration::from_hours(1),
            now: at("2026-12-03T08:00"),
        };
        let told = |wanted: &FreeTimeQuery| -> Vec<String> {
            let stretch = |(from, to): &(Timestamp, Timestamp)| {
                let local = |at: Timestamp| at.to_zoned(home.clone()).strftime("%d %H:%M").to_string();
                format!("{}-{}", local(*from), local(*to))
            };
            free(&busy, wanted, &home).iter().map(stretch).collect()
        };
        assert_eq!(told(&wanted), ["03 11:00-03 14:00", "03 15:00-03 18:00", "05 09:00-05 18:00"]);
        let later = FreeTimeQuery { now: at("2026-12-03T17:30"), days: 1, ..wanted };
        assert_eq!(told(&later), [""; 0]);
    }
}
