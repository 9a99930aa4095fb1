//! The words of a text as what they say: days, dates, times, periods.

use jiff::civil::{Date, Time};
use jiff::tz::Offset;

use crate::domain::lexicon::month;
use crate::policy::schedule::Unit;
use crate::policy::schedule::read::lexicon::{
    AheadUnit, DayHalf, ahead_unit, counted, day_half, day_of_month, ordinal, time, unit, weekday,
};
use crate::policy::schedule::read::{ReadError, date};

/// A day of the calendar, perhaps of each year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CalendarDay {
    pub(super) day: i8,
    pub(super) month: i8,
    pub(super) year: Option<i16>,
}

/// What a text says.
#[derive(Debug, Default)]
pub(super) struct ScheduleParts {
    /// A period: every so many.
    pub(super) every: Option<(u32, Unit)>,
    /// How long from now.
    pub(super) ahead: Vec<(u32, AheadUnit)>,
    /// Days of the week, from Sunday.
    pub(super) weekdays: Vec<u8>,
    /// They are meant again and again.
    pub(super) again: bool,
    /// The so-manyth of them in a month; 5: the last.
    pub(super) nth: Option<u8>,
    /// A day of each month; 0: the last.
    pub(super) month_day: Option<i8>,
    /// A date.
    pub(super) day: Option<CalendarDay>,
    /// Each year.
    pub(super) yearly: bool,
    /// Each month.
    pub(super) monthly: bool,
    /// So many days from today.
    pub(super) from_today: Option<i64>,
    /// Times of day.
    pub(super) times: Vec<Time>,
    /// The part of the day that they are in.
    half: Option<DayHalf>,
    /// From hour to hour.
    pub(super) between: Option<(Time, Time)>,
    /// The first day of a period.
    pub(super) from: Option<CalendarDay>,
    /// Which of two equal times.
    pub(super) offset: Option<Offset>,
}

/// "The day after tomorrow", behind the day.
const AFTER_TOMORROW: [&str; 2] = ["after", "tomorrow"];

pub(super) fn take_apart(words: &[String]) -> Result<ScheduleParts, ReadError> {
    let mut reader = WordReader { words, at: 0, parts: ScheduleParts::default() };
    while let Some(word) = reader.peek() {
        reader.at += 1;
        reader.word(word)?;
    }
    if let Some(half) = reader.parts.half {
        let times = reader.parts.times.iter().map(|time| half.time(*time).ok_or(ReadError::Ambiguous));
        reader.parts.times = times.collect::<Result<_, _>>()?;
    }
    Ok(reader.parts)
}

struct WordReader<'a> {
    words: &'a [String],
    at: usize,
    parts: ScheduleParts,
}

impl<'a> WordReader<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).map(String::as_str)
    }

    /// The next word, if it means something here.
    fn take<T>(&mut self, meaning: impl Fn(&str) -> Option<T>) -> Option<T> {
        let found = self.peek().and_then(meaning)?;
        self.at += 1;
        Some(found)
    }

    fn skip(&mut self, words: &[&str]) -> bool {
        self.take(|word| words.contains(&word).then_some(())).is_some()
    }

    fn unknown(word: &str) -> ReadError {
        ReadError::Unknown(word.chars().take(40).collect())
    }

    fn set<T>(slot: &mut Option<T>, value: T) -> Result<(), ReadError> {
        if slot.is_some() {
            return Err(ReadError::Ambiguous);
        }
        *slot = Some(value);
        Ok(())
    }

    fn word(&mut self, word: &'a str) -> Result<(), ReadError> {
        match word {
            "on" | "the" | "of" | "and" | "o'clock" => Ok(()),
            "this" if self.names_half_next() => self.today(0),
            "this" => Ok(()),
            "every" | "each" => self.every(),
            "daily" => Self::set(&mut self.parts.every, (1, Unit::Days)),
            "hourly" => Self::set(&mut self.parts.every, (1, Unit::Hours)),
            "weekly" => Self::set(&mut self.parts.every, (1, Unit::Weeks)),
            "monthly" => self.monthly(),
            "month" if self.parts.month_day.is_some() || self.parts.nth.is_some() => self.monthly(),
            "yearly" | "annually" => self.yearly(),
            "weekday" | "weekdays" | "workdays" => self.days(&[1, 2, 3, 4, 5]),
            "weekend" | "weekends" => self.days(&[0, 6]),
            "next" => match self.take(weekday) {
                Some((day, false)) => self.day_of_week(day, false),
                Some((_, true)) | None => Err(Self::unknown(word)),
            },
            "today" => self.today(0),
            "tomorrow" => self.today(1),
            "overmorrow" => self.today(2),
            "day"
                if self
                    .words
                    .get(self.at..)
                    .is_some_and(|rest| rest.starts_with(&AFTER_TOMORROW.map(str::to_owned))) =>
            {
                self.at += AFTER_TOMORROW.len();
                self.today(2)
            }
            "tonight" => self.today(0).and_then(|()| Self::set(&mut self.parts.half, DayHalf::Later)),
            // "at 8 in the evening"
            "in" if self.peek() == Some("the") => Ok(()),
            "in" => self.ahead(),
            "at" => self.times(word),
            "between" => self.between("and"),
            "from" | "starting" => self.from(word),
            _ => self.thing(word),
        }
    }

    /// A day, a date or a time that nothing leads in.
    fn thing(&mut self, word: &'a str) -> Result<(), ReadError> {
        if let Some(half) = day_half(word) {
            return Self::set(&mut self.parts.half, half);
        }
        if let Some((day, many)) = weekday(word) {
            return self.day_of_week(day, many);
        }
        if let Some(day) = self.calendar_day(word)? {
            return Self::set(&mut self.parts.day, day);
        }
        if let Some(nth) = ordinal(word) {
            return self.nth(word, nth);
        }
        if let Some(offset) = offset(word) {
            return Self::set(&mut self.parts.offset, offset);
        }
        // `24th`, or `24 of the month`; a number alone can be an hour.
        let counted_day = day_of_month(word).filter(|_| !word.ends_with(|c: char| c.is_ascii_digit()));
        if let Some(day) = counted_day {
            return Self::set(&mut self.parts.month_day, day);
        }
        self.at -= 1;
        self.times(word)
    }

    fn today(&mut self, days: i64) -> Result<(), ReadError> {
        Self::set(&mut self.parts.from_today, days)
    }

    fn names_half_next(&self) -> bool {
        self.peek().is_some_and(|word| day_half(word).is_some())
    }

    fn every(&mut self) -> Result<(), ReadError> {
        self.parts.again = true;
        let other = self.skip(&["other"]);
        if other || (self.peek() == Some("second") && self.names_unit_or_day_next()) {
            self.at += usize::from(!other);
            return self.every_so_many(2);
        }
        if let Some((count, unit)) = self.take(|word| counted(word, unit)) {
            return Self::set(&mut self.parts.every, (count, unit));
        }
        if let Some(count) = self.take(|word| word.parse::<u32>().ok()) {
            return self.every_so_many(count);
        }
        match self.peek() {
            Some("month") => {
                self.at += 1;
                self.monthly()
            }
            Some("year") => {
                self.at += 1;
                self.yearly()
            }
            Some(word) if unit(word).is_some() => self.every_so_many(1),
            Some(word) if day_half(word).is_some() => Self::set(&mut self.parts.every, (1, Unit::Days)),
            // What else there is each time, the next words say.
            Some(_) => Ok(()),
            None => Err(Self::unknown("every")),
        }
    }

    /// "every second Friday", but not "every second Friday of the month".
    fn names_unit_or_day_next(&self) -> bool {
        let next = self.words.get(self.at + 1).map(String::as_str);
        let of_month = self.words.get(self.at + 2..).is_some_and(|rest| rest.iter().any(|word| word == "month"));
        next.is_some_and(|word| unit(word).is_some() || weekday(word).is_some()) && !of_month
    }

    fn every_so_many(&mut self, count: u32) -> Result<(), ReadError> {
        if let Some((day, _)) = self.take(weekday) {
            self.parts.weekdays.push(day);
            return Self::set(&mut self.parts.every, (count, Unit::Weeks));
        }
        let Some(unit) = self.take(unit) else {
            return Err(Self::unknown(self.peek().unwrap_or("every")));
        };
        Self::set(&mut self.parts.every, (count, unit))
    }

    fn monthly(&mut self) -> Result<(), ReadError> {
        self.parts.monthly = true;
        Ok(())
    }

    fn yearly(&mut self) -> Result<(), ReadError> {
        self.parts.yearly = true;
        Ok(())
    }

    fn days(&mut self, days: &[u8]) -> Result<(), ReadError> {
        self.parts.again = true;
        self.parts.weekdays.extend(days);
        Ok(())
    }

    fn day_of_week(&mut self, day: u8, again: bool) -> Result<(), ReadError> {
        self.parts.again |= again;
        self.parts.weekdays.push(day);
        Ok(())
    }

    /// "first Monday", "last day".
    fn nth(&mut self, word: &str, nth: u8) -> Result<(), ReadError> {
        if let Some((day, _)) = self.take(weekday) {
            self.parts.weekdays.push(day);
            return Self::set(&mut self.parts.nth, nth);
        }
        if nth == 5 && self.skip(&["day"]) {
            return Self::set(&mut self.parts.month_day, 0);
        }
        match i8::try_from(nth) {
            Ok(day) if nth < 5 && self.peek() != Some("day") => Self::set(&mut self.parts.month_day, day),
            Ok(day) if nth < 5 => {
                self.at += 1;
                Self::set(&mut self.parts.month_day, day)
            }
            Ok(_) | Err(_) => Err(Self::unknown(word)),
        }
    }

    /// `24 December`, `December 24 2026`, `2026-12-24`, `24.12.2026`.
    fn calendar_day(&mut self, word: &str) -> Result<Option<CalendarDay>, ReadError> {
        if let Ok(date) = word.parse::<Date>() {
            return Ok(Some(CalendarDay { day: date.day(), month: date.month(), year: Some(date.year()) }));
        }
        if word.len() == 10 && word.split('-').count() == 3 && word.split('-').all(|part| part.parse::<u16>().is_ok()) {
            // It is written like a date, and there is none.
            return date(0, 0, 0).map(|_| None);
        }
        let fields: Vec<&str> = word.split('.').collect();
        if let [day, month, rest @ ..] = fields.as_slice()
            && let (Ok(day), Ok(month)) = (day.parse(), month.parse())
            && rest.len() <= 1
        {
            let year = rest.first().and_then(|year| year.parse().ok());
            return Self::existing(CalendarDay { day, month, year }).map(Some);
        }
        let of = usize::from(self.peek() == Some("of"));
        let after = self.words.get(self.at + of).and_then(|word| month(word));
        let found = match (day_of_month(word), after, month(word)) {
            (Some(day), Some(month), _) => {
                self.at += of + 1;
                Some((day, month))
            }
            (_, _, Some(month)) => self.take(day_of_month).map(|day| (day, month)),
            _ => None,
        };
        let Some((day, month)) = found else { return Ok(None) };
        let year = self.take(|word| word.parse().ok().filter(|year| word.len() == 4 && *year >= 1970));
        Self::existing(CalendarDay { day, month, year }).map(Some)
    }

    fn existing(day: CalendarDay) -> Result<CalendarDay, ReadError> {
        // Without a year it may be a leap year's.
        date(day.year.unwrap_or(2000), day.month, day.day)?;
        Ok(day)
    }

    /// "2 hours and 30 minutes", "2h", "half an hour", "a week".
    fn ahead(&mut self) -> Result<(), ReadError> {
        loop {
            let is_half = self.words.get(self.at + 1).is_some_and(|next| next == "half");
            self.at += usize::from(is_half && self.peek() == Some("a"));
            if self.skip(&["half"]) {
                self.skip(&["an", "a"]);
                if !self.skip(&["hour"]) {
                    return Err(Self::unknown("half"));
                }
                self.parts.ahead.push((30, AheadUnit::Of(Unit::Minutes)));
            } else if let Some(counted) = self.take(|word| counted(word, ahead_unit)) {
                self.parts.ahead.push(counted);
            } else {
                let count = self.take(|word| match word {
                    "a" | "an" => Some(1),
                    word => word.parse().ok(),
                });
                let unit = self.take(ahead_unit);
                let (Some(count), Some(unit)) = (count, unit) else {
                    return Err(Self::unknown(self.peek().unwrap_or("in")));
                };
                self.parts.ahead.push((count, unit));
            }
            let and = usize::from(self.peek() == Some("and"));
            let next = self.words.get(self.at + and).map(String::as_str);
            if !next.is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains(':')) {
                return Ok(());
            }
            self.at += and;
        }
    }

    fn time(&mut self) -> Option<Time> {
        let alone = self.peek()?;
        let half = self.words.get(self.at + 1).map(String::as_str).filter(|word| matches!(*word, "am" | "pm"));
        if let Some(half) = half
            && let Some(time) = time(&format!("{alone}{half}"), true)
        {
            self.at += 2;
            return Some(time);
        }
        self.take(|word| time(word, true))
    }

    /// A time, or several.
    fn times(&mut self, word: &str) -> Result<(), ReadError> {
        let led = word == "at" || self.parts.again || self.parts.every.is_some();
        let clock = self.peek().is_some_and(|word| time(word, false).is_some());
        let half = self.words.get(self.at + 1).is_some_and(|word| matches!(word.as_str(), "am" | "pm" | "o'clock"));
        if !led && !clock && !half {
            return Err(Self::unknown(word));
        }
        let Some(first) = self.time() else {
            return Err(Self::unknown(self.peek().unwrap_or(word)));
        };
        self.parts.times.push(first);
        while self.peek() == Some("and") {
            self.at += 1;
            match self.time() {
                Some(time) => self.parts.times.push(time),
                None => break,
            }
        }
        Ok(())
    }

    fn between(&mut self, and: &str) -> Result<(), ReadError> {
        let from = self.time();
        self.skip(&["o'clock"]);
        let joined = self.skip(&[and, "-"]);
        match (from, joined.then(|| self.time()).flatten()) {
            (Some(from), Some(to)) => Self::set(&mut self.parts.between, (from, to)),
            _ => Err(Self::unknown("between")),
        }
    }

    /// "from 9 to 17", "from 27 November 2026".
    fn from(&mut self, word: &str) -> Result<(), ReadError> {
        let Some(first) = self.peek() else { return Err(Self::unknown(word)) };
        self.at += 1;
        if let Some(day) = self.calendar_day(first)? {
            return Self::set(&mut self.parts.from, day);
        }
        self.at -= 1;
        self.between("to")
    }
}

/// `+01:00`.
fn offset(word: &str) -> Option<Offset> {
    let sign = match word.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = word[1..].split_once(':')?;
    let (hours, minutes) = (hours.parse::<i32>().ok()?, minutes.parse::<i32>().ok()?);
    Offset::from_seconds(sign * (hours * 3_600 + minutes * 60)).ok()
}
