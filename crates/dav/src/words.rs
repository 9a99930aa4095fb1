//! Times and entries in words: with the weekday, on the household's clock. Never the calendar's own text.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use crate::entry::Entry;
use crate::when::When;
use hob_core::domain::text::cut;

/// The most characters of a line of somebody's.
const LINE_CHARS_MAX: usize = 160;

#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    pub home: &'a TimeZone,
    pub now: Timestamp,
}

impl Reader<'_> {
    /// A day: `Thu 3 December`, with the year where it is not this one.
    pub fn day(&self, day: Date) -> String {
        let this_year = self.now.to_zoned(self.home.clone()).year();
        let form = if day.year() == this_year { "%a %-d %B" } else { "%a %-d %B %Y" };
        day.strftime(form).to_string()
    }

    pub fn span(&self, start: &When, end: &When) -> String {
        let (When::At(from), When::At(to)) = (start, end) else {
            let first = start.day(self.home);
            let last = end.day(self.home).checked_sub(1.day()).unwrap_or(first);
            let days =
                if last > first { format!("{} to {}", self.day(first), self.day(last)) } else { self.day(first) };
            return format!("{days}, all day");
        };
        self.between(from.timestamp(), to.timestamp())
    }

    /// The same of moments.
    pub fn between(&self, from: Timestamp, to: Timestamp) -> String {
        let (from, to) = (from.to_zoned(self.home.clone()), to.to_zoned(self.home.clone()));
        let time = |at: &jiff::Zoned| at.strftime("%H:%M").to_string();
        if from.timestamp() == to.timestamp() {
            return format!("{}, {}", self.day(from.date()), time(&from));
        }
        if from.date() == to.date() {
            return format!("{}, {}–{}", self.day(from.date()), time(&from), time(&to));
        }
        format!("{}, {} to {}, {}", self.day(from.date()), time(&from), self.day(to.date()), time(&to))
    }

    pub fn line(&self, entry: &Entry) -> String {
        let mut line = format!("{}: {}", self.span(&entry.start, &entry.end), one_line(&entry.said.title));
        if let Some(place) = &entry.said.place {
            line.extend([", at ", &one_line(place)]);
        }
        let mut more = Vec::new();
        if entry.repeats {
            more.push("repeats".to_owned());
        }
        if !entry.said.others.is_empty() {
            more.push(format!("with {} more", entry.said.others.len()));
        }
        more.extend(entry.said.own_answer().map(|answer| format!("you: {answer}")));
        if !more.is_empty() {
            line.extend([" (", &more.join(", "), ")"]);
        }
        line
    }
}

/// Somebody's words on one line, without what hides.
pub fn one_line(text: &str) -> String {
    let (shown, _) = hob_http::page::characters::strip_invisible(text);
    cut(&hob_core::domain::text::one_line(&shown), LINE_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f3_times_are_local_with_the_weekday() {
        let home = TimeZone::get("Europe/Berlin").unwrap();
        let reader = Reader { home: &home, now: "2026-11-26T12:00:00Z".parse().unwrap() };
        let at = |text: &str| When::At(text.parse::<Timestamp>().unwrap().to_zoned(TimeZone::UTC));
        let day = |text: &str| When::Day(text.parse().unwrap());
        let told = [
            reader.span(&at("2026-12-03T13:00:00Z"), &at("2026-12-03T14:00:00Z")),
            reader.span(&at("2026-12-03T23:00:00Z"), &at("2026-12-04T23:30:00Z")),
            reader.span(&at("2027-01-03T13:00:00Z"), &at("2027-01-03T13:00:00Z")),
            reader.span(&day("2026-12-03"), &day("2026-12-04")),
            reader.span(&day("2026-12-31"), &day("2027-01-03")),
        ];
        insta::assert_snapshot!(told.join("\n"), @r"
        Thu 3 December, 14:00–15:00
        Fri 4 December, 00:00 to Sat 5 December, 00:30
        Sun 3 January 2027, 14:00
        Thu 3 December, all day
        Thu 31 December to Sat 2 January 2027, all day
        ");
        assert_eq!(one_line("a\u{202e}b\n[x]"), "ab [x]");
    }
}
