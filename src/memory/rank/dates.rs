//! The days that a question speaks of: "on 8 May", "in March 2024", "last Tuesday", "vor zwei Wochen".

use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

use crate::memory::rank::words::words;

#[cfg(test)]
mod tests;
pub mod until;

/// A day or more, both ends within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Days {
    /// The first.
    pub from: Date,
    /// The last.
    pub to: Date,
}

/// What a day after is worth in comparison, and in how many days that falls to a third: people tell of what was.
const LATER: (f64, f64) = (0.9, 10.0);
/// The same for a day before: people tell of what they plan.
const EARLIER: (f64, f64) = (0.6, 7.0);

/// How close `day` is to the nearest of `spoken`: 1 within, 0 far away or if nothing is spoken of.
#[must_use]
pub fn closeness(day: Date, spoken: &[Days]) -> f64 {
    let of = |days: &Days| {
        let fall = |(most, third): (f64, f64), from: Date, to: Date| most * (-days_between(from, to) / third).exp();
        if day < days.from {
            fall(EARLIER, day, days.from)
        } else if day > days.to {
            fall(LATER, days.to, day)
        } else {
            1.0
        }
    };
    spoken.iter().map(of).fold(0.0, f64::max)
}

fn days_between(from: Date, to: Date) -> f64 {
    to.duration_since(from).as_hours() as f64 / 24.0
}

/// The days that `text` speaks of, on the day `today`.
#[must_use]
pub fn spoken(text: &str, today: Date) -> Vec<Days> {
    let words: Vec<String> = words(text).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let here = Here { words: &words, at, today };
        let read = here.written().or_else(|| here.month()).or_else(|| here.relative()).or_else(|| here.year());
        if let Some((days, taken)) = read {
            found.push(days);
            at += taken;
        } else {
            at += 1;
        }
    }
    found
}

/// A place in a question.
#[derive(Clone, Copy)]
struct Here<'a> {
    words: &'a [String],
    at: usize,
    today: Date,
}

/// What was read, and how many words it took.
type Read = Option<(Days, usize)>;

impl Here<'_> {
    fn word(&self, ahead: isize) -> &str {
        self.at.checked_add_signed(ahead).and_then(|at| self.words.get(at)).map_or("", String::as_str)
    }

    /// 2024-05-08, and 8.5.2024 as it is written in German.
    fn written(&self) -> Read {
        let number = |ahead| self.word(ahead).parse::<i16>().ok();
        let (first, second, third) = (number(0)?, number(1)?, number(2)?);
        let date = match (self.word(0).len(), self.word(2).len()) {
            (4, _) => Date::new(first, i8::try_from(second).ok()?, i8::try_from(third).ok()?),
            (_, 4) => Date::new(third, i8::try_from(second).ok()?, i8::try_from(first).ok()?),
            _ => return None,
        };
        Some((one(date.ok()?), 3))
    }

    /// A month by its name, with a day before or after it, and a year.
    fn month(&self) -> Read {
        let month = month(self.word(0))?;
        let before = day(self.word(-1)).or_else(|| (self.word(-1) == "of").then(|| day(self.word(-2))).flatten());
        let after = day(self.word(1)).filter(|_| before.is_none());
        let year_at = if after.is_some() { 2 } else { 1 };
        let year = year(self.word(year_at));
        let day = before.or(after);
        // "may" and "march" are verbs, too.
        let is_verb = matches!(self.word(0), "may" | "march" | "mar");
        let introduced =
            matches!(self.word(-1), "in" | "im" | "of" | "last" | "this" | "since" | "until" | "early" | "late");
        if is_verb && day.is_none() && year.is_none() && !introduced {
            return None;
        }
        let taken = 1 + usize::from(after.is_some()) + usize::from(year.is_some());
        let this_year = self.today.year();
        let first = Date::new(year.unwrap_or(this_year), month, day.unwrap_or(1)).ok()?;
        // Without a year it is the last that was.
        let first = if year.is_none() && first > self.today { first.checked_sub(1.year()).ok()? } else { first };
        let last = if day.is_some() { first } else { first.last_of_month() };
        Some((Days { from: first, to: last }, taken))
    }

    /// A whole year.
    fn year(&self) -> Read {
        let year = year(self.word(0))?;
        Some((Days { from: Date::new(year, 1, 1).ok()?, to: Date::new(year, 12, 31).ok()? }, 1))
    }

    /// By today.
    fn relative(&self) -> Read {
        let back = |days: i64| self.today.checked_sub(days.days()).ok().map(one);
        match self.word(0) {
            "today" | "heute" => Some((one(self.today), 1)),
            "yesterday" | "gestern" => Some((back(1)?, 1)),
            "vorgestern" => Some((back(2)?, 1)),
            "last" | "letzte" | "letzten" | "letzter" | "letztes" | "letztem" | "vorige" | "vorigen" => {
                Some((self.unit(self.word(1), 1)?, 2))
            }
            "this" | "diese" | "diesen" | "dieses" | "diesem" => Some((self.unit(self.word(1), 0)?, 2)),
            "vor" => Some((self.ago(self.word(1), self.word(2))?, 3)),
            count if self.word(2) == "ago" => Some((self.ago(count, self.word(1))?, 3)),
            _ => None,
        }
    }

    /// This week, month or year, or the one before; the last Tuesday.
    fn unit(&self, word: &str, before: i64) -> Option<Days> {
        let today = self.today;
        if let Some(weekday) = weekday(word) {
            return today.nth_weekday(-1, weekday).ok().map(one);
        }
        match word {
            "week" | "woche" => {
                let past = i64::from(today.weekday().to_monday_zero_offset());
                let monday = today.checked_sub((past + 7 * before).days()).ok()?;
                Some(Days { from: monday, to: monday.checked_add(6.days()).ok()? })
            }
            "month" | "monat" => {
                let from = today.first_of_month().checked_sub(before.months()).ok()?;
                Some(Days { from, to: from.last_of_month() })
            }
            "year" | "jahr" => {
                let from = today.first_of_year().checked_sub(before.years()).ok()?;
                Some(Days { from, to: from.last_of_year() })
            }
            _ => None,
        }
    }

    /// Three weeks ago: give or take half of what is counted in.
    fn ago(&self, count: &str, unit: &str) -> Option<Days> {
        let count = number(count)?;
        let (span, slack) = match unit {
            "day" | "days" | "tag" | "tagen" => (count.days(), 0),
            "week" | "weeks" | "woche" | "wochen" => (count.weeks(), 3),
            "month" | "months" | "monat" | "monaten" => (count.months(), 15),
            "year" | "years" | "jahr" | "jahren" => (count.years(), 183),
            _ => return None,
        };
        let middle = self.today.checked_sub(span).ok()?;
        let (from, to) = (middle.checked_sub(slack.days()).ok()?, middle.checked_add(slack.days()).ok()?);
        Some(Days { from, to })
    }
}

fn one(day: Date) -> Days {
    Days { from: day, to: day }
}

fn year(word: &str) -> Option<i16> {
    word.parse().ok().filter(|year| word.len() == 4 && (1900..=2100).contains(year))
}

/// A day of a month: 8, 8th.
fn day(word: &str) -> Option<i8> {
    let digits = ["st", "nd", "rd", "th"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    digits.parse().ok().filter(|day| (1..=31).contains(day))
}

/// A count, up to ten in words.
fn number(word: &str) -> Option<i64> {
    let named: [&[&str]; 11] = [
        &[],
        &["a", "an", "one", "einem", "einer"],
        &["two", "zwei"],
        &["three", "drei"],
        &["four", "vier"],
        &["five", "funf"],
        &["six", "sechs"],
        &["seven", "sieben"],
        &["eight", "acht"],
        &["nine", "neun"],
        &["ten", "zehn"],
    ];
    let named = (1_i64..).zip(&named[1..]).find(|(_, names)| names.contains(&word)).map(|(count, _)| count);
    named.or_else(|| word.parse().ok().filter(|count| (1..=1_000).contains(count)))
}

fn month(word: &str) -> Option<i8> {
    let names: [&[&str]; 12] = [
        &["january", "jan", "januar", "janner"],
        &["february", "feb", "februar"],
        &["march", "mar", "marz"],
        &["april", "apr"],
        &["may", "mai"],
        &["june", "jun", "juni"],
        &["july", "jul", "juli"],
        &["august", "aug"],
        &["september", "sept", "sep"],
        &["october", "oct", "oktober", "okt"],
        &["november", "nov"],
        &["december", "dec", "dezember", "dez"],
    ];
    (1_i8..).zip(&names).find(|(_, names)| names.contains(&word)).map(|(month, _)| month)
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" | "montag" => Weekday::Monday,
        "tuesday" | "dienstag" => Weekday::Tuesday,
        "wednesday" | "mittwoch" => Weekday::Wednesday,
        "thursday" | "donnerstag" => Weekday::Thursday,
        "friday" | "freitag" => Weekday::Friday,
        "saturday" | "samstag" | "sonnabend" => Weekday::Saturday,
        "sunday" | "sonntag" => Weekday::Sunday,
        _ => return None,
    })
}
