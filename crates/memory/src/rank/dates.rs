//! The days that a question speaks of: "on 8 May", "in March 2024", "last Tuesday", "vor zwei Wochen".

use jiff::civil::Date;
use jiff::{Span, ToSpan};

use crate::rank::words::folded_words;
use hob_core::domain::lexicon::{self, month, weekday};

mod named;
#[cfg(test)]
mod tests;
pub(crate) mod until;

/// A day or more, both ends within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateRange {
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
pub(crate) fn closeness(day: Date, spoken: &[DateRange]) -> f64 {
    let of = |days: &DateRange| {
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
pub(crate) fn mentioned_dates(text: &str, today: Date) -> Vec<DateRange> {
    let words: Vec<String> = folded_words(text).collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let here = Cursor { words: &words, at, today };
        let read =
            here.numeric_date().or_else(|| here.month()).or_else(|| here.relative()).or_else(|| here.relative_period());
        let read = read.or_else(|| here.named_period()).or_else(|| here.day_alone()).or_else(|| here.year());
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
struct Cursor<'a> {
    words: &'a [String],
    at: usize,
    today: Date,
}

/// What was read, and how many words it took.
type ParsedDates = Option<(DateRange, usize)>;

impl Cursor<'_> {
    fn word(&self, ahead: isize) -> &str {
        self.at.checked_add_signed(ahead).and_then(|at| self.words.get(at)).map_or("", String::as_str)
    }

    /// 2024-05-08; 8.5.2024 and 8.5. as they are written in German; 5/28/2024 where no month is meant otherwise.
    fn numeric_date(&self) -> ParsedDates {
        let number = |ahead| self.word(ahead).parse::<i16>().ok();
        let (first, second) = (number(0)?, number(1)?);
        let of =
            |year: i16, month: i16, day: i16| Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok();
        let third = number(2);
        let date = match (self.word(0).len(), third, self.word(2).len()) {
            (4, Some(third), _) => of(first, second, third),
            (_, Some(third), 4) => of(third, second, first).or_else(|| of(third, first, second)),
            _ => None,
        };
        if let Some(date) = date {
            return Some((one(date), 3));
        }
        let introduced = matches!(self.word(-1), "am" | "vom" | "seit" | "zum") && third.is_none();
        let this_year = of(self.today.year(), second, first).filter(|_| introduced)?;
        Some((one(self.past(this_year, 1.year())?), 2))
    }

    /// The last that was, of what comes again and again.
    fn past(&self, day: Date, again: Span) -> Option<Date> {
        if day > self.today { day.checked_sub(again).ok() } else { Some(day) }
    }

    /// A month by its name, with a day before or after it, and a year.
    fn month(&self) -> ParsedDates {
        let month = month(self.word(0))?;
        let before = day(self.word(-1)).or_else(|| (self.word(-1) == "of").then(|| day(self.word(-2))).flatten());
        let after = day(self.word(1)).filter(|_| before.is_none());
        let year_at = if after.is_some() { 2 } else { 1 };
        let year = year(self.word(year_at));
        let day = before.or(after);
        // "may" and "march" are verbs, too.
        let is_verb = !lexicon::is_only_month(self.word(0));
        let introduced = [
            "in", "im", "of", "last", "this", "since", "until", "early", "late", "during", "between", "from", "before",
            "after",
        ]
        .contains(&self.word(-1));
        if is_verb && day.is_none() && year.is_none() && !introduced {
            return None;
        }
        let taken = 1 + usize::from(after.is_some()) + usize::from(year.is_some());
        let this_year = self.today.year();
        let first = Date::new(year.unwrap_or(this_year), month, day.unwrap_or(1)).ok()?;
        // Without a year it is the last that was.
        let first = if year.is_none() { self.past(first, 1.year())? } else { first };
        let last = if day.is_some() { first } else { first.last_of_month() };
        Some((DateRange { from: first, to: last }, taken))
    }

    /// A whole year.
    fn year(&self) -> ParsedDates {
        let year = year(self.word(0))?;
        Some((DateRange { from: Date::new(year, 1, 1).ok()?, to: Date::new(year, 12, 31).ok()? }, 1))
    }

    /// By today.
    fn relative(&self) -> ParsedDates {
        let back = |days: i64| self.today.checked_sub(days.days()).ok().map(one);
        let day_before = self.word(-1) == "before" && self.word(-2) == "day";
        match self.word(0) {
            "today" | "tonight" | "heute" => Some((one(self.today), 1)),
            "yesterday" => Some((back(if day_before { 2 } else { 1 })?, 1)),
            "gestern" => Some((back(1)?, 1)),
            "vorgestern" => Some((back(2)?, 1)),
            "tomorrow" => Some((back(-1)?, 1)),
            // "guten Morgen" and "heute Morgen" are mornings.
            "morgen" if !matches!(self.word(-1), "guten" | "heute" | "gestern" | "am" | "jeden") => {
                Some((back(-1)?, 1))
            }
            "ubermorgen" => Some((back(-2)?, 1)),
            "vor" if self.word(1) == "ein" && self.word(2) == "paar" => Some((self.ago("few", self.word(3))?, 4)),
            "vor" => Some((self.ago(self.word(1), self.word(2))?, 3)),
            "couple" if self.word(1) == "of" && self.word(3) == "ago" => Some((self.ago("couple", self.word(2))?, 4)),
            count if self.word(2) == "ago" => Some((self.ago(count, self.word(1))?, 3)),
            _ => None,
        }
    }

    /// "last week", "this weekend", "the last three days", "vorletzte Woche", "the week before last".
    fn relative_period(&self) -> ParsedDates {
        if self.word(1) == "before" && self.word(2) == "last" {
            return Some((self.unit(self.word(0), 2)?, 3));
        }
        let before = units_back(self.word(0))?;
        if before == 1
            && let Some(days) = self.last_n_days()
        {
            return Some((days, 3));
        }
        if before == 1 && matches!(self.word(1), "night" | "nacht") {
            return Some((one(self.today.checked_sub(1.day()).ok()?), 2));
        }
        Some((self.unit(self.word(1), before)?, 2))
    }

    /// The last three days, today among them.
    fn last_n_days(&self) -> Option<DateRange> {
        let from = self.ago(self.word(1), self.word(2))?.from;
        Some(DateRange { from, to: self.today })
    }

    /// A season or a feast of a year, or the last that began.
    fn named_period(&self) -> ParsedDates {
        let word = self.word(0);
        let new_years_eve = word == "new" && self.word(1) == "year" && self.word(2) == "s" && self.word(3) == "eve";
        let (word, taken) = if new_years_eve { ("silvester", 4) } else { (word, 1) };
        let told = year(self.word(taken as isize));
        // "What do we do at Christmas?" asks for a habit, and not for a day.
        if told.is_none() && units_back(self.word(-1)).is_none() {
            return None;
        }
        let of = |year| named::season(word, year).or_else(|| named::feast(word, year));
        let this_year = self.today.year();
        let days = match told {
            Some(year) => of(year)?,
            None => of(this_year).filter(|days| days.from <= self.today).or_else(|| of(this_year - 1))?,
        };
        Some((days, taken + usize::from(told.is_some())))
    }

    /// "on Tuesday", "am Dienstag"; "on the 3rd", "am 3.": the last that was.
    fn day_alone(&self) -> ParsedDates {
        let tomorrow = self.today.tomorrow().ok()?;
        let on = |ahead| matches!(self.word(ahead), "on" | "am" | "since" | "seit" | "vom");
        if let Some(weekday) = weekday(self.word(0)).filter(|_| on(-1)) {
            return Some((one(tomorrow.nth_weekday(-1, weekday).ok()?), 1));
        }
        let is_ordinal = !self.word(0).bytes().all(|byte| byte.is_ascii_digit());
        let english = is_ordinal && self.word(-1) == "the" && on(-2) && self.word(1) != "of";
        let names_more = self.word(1) == "uhr" || month(self.word(1)).is_some();
        let german = !is_ordinal && matches!(self.word(-1), "am" | "vom") && !names_more;
        let day = day(self.word(0)).filter(|_| english || german)?;
        let mut month = self.today.first_of_month();
        // Not each month has a 31st.
        for _ in 0..3 {
            let found = Date::new(month.year(), month.month(), day).ok().filter(|date| *date <= self.today);
            if let Some(date) = found {
                return Some((one(date), 1));
            }
            month = month.checked_sub(1.month()).ok()?;
        }
        None
    }

    /// This week, month or year, or so many before it; the last Tuesday.
    fn unit(&self, word: &str, before: i64) -> Option<DateRange> {
        let today = self.today;
        if let Some(weekday) = weekday(word) {
            let nth = match before {
                0 => return today.tomorrow().ok()?.nth_weekday(-1, weekday).ok().map(one),
                before => -i32::try_from(before).ok()?,
            };
            return today.nth_weekday(nth, weekday).ok().map(one);
        }
        let past = i64::from(today.weekday().to_monday_zero_offset());
        let monday = || today.checked_sub((past + 7 * before).days()).ok();
        match word {
            "week" | "woche" => Some(DateRange { from: monday()?, to: monday()?.checked_add(6.days()).ok()? }),
            "weekend" | "wochenende" => Some(DateRange {
                from: monday()?.checked_add(5.days()).ok()?,
                to: monday()?.checked_add(6.days()).ok()?,
            }),
            "month" | "monat" => {
                let from = today.first_of_month().checked_sub(before.months()).ok()?;
                Some(DateRange { from, to: from.last_of_month() })
            }
            "year" | "jahr" => {
                let from = today.first_of_year().checked_sub(before.years()).ok()?;
                Some(DateRange { from, to: from.last_of_year() })
            }
            _ => None,
        }
    }

    /// Three weeks ago: give or take half of what is counted in.
    fn ago(&self, count: &str, unit: &str) -> Option<DateRange> {
        let count = number(count)?;
        let (span, slack) = match unit {
            "day" | "days" | "tag" | "tage" | "tagen" => (count.days(), 0),
            "week" | "weeks" | "woche" | "wochen" => (count.weeks(), 3),
            "month" | "months" | "monat" | "monate" | "monaten" => (count.months(), 15),
            "year" | "years" | "jahr" | "jahre" | "jahren" => (count.years(), 183),
            _ => return None,
        };
        let middle = self.today.checked_sub(span).ok()?;
        let (from, to) = (middle.checked_sub(slack.days()).ok()?, middle.checked_add(slack.days()).ok()?);
        Some(DateRange { from, to })
    }
}

/// How many units back a word points.
fn units_back(word: &str) -> Option<i64> {
    match word {
        "last" | "past" | "letzte" | "letzten" | "letzter" | "letztes" | "letztem" | "vorige" | "vorigen"
        | "voriges" | "vergangene" | "vergangenen" => Some(1),
        "vorletzte" | "vorletzten" | "vorletzter" | "vorletztes" => Some(2),
        "this" | "diese" | "diesen" | "dieses" | "diesem" | "dieser" => Some(0),
        _ => None,
    }
}

fn one(day: Date) -> DateRange {
    DateRange { from: day, to: day }
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
    match word {
        "a" | "an" | "einem" | "einer" => Some(1),
        "couple" => Some(2),
        "few" => Some(3),
        word => lexicon::number(word).or_else(|| word.parse().ok().filter(|count| (1..=1_000).contains(count))),
    }
}
