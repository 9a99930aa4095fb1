//! What becomes of instants that have come, perhaps while nobody was there.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::policy::schedule::Rule;

/// So many instants that were missed are recorded of one sleep.
pub(crate) const MISSED_MAX: usize = 20;
/// So many that were missed are made up for at once, where all of them are to be.
pub(crate) const CAUGHT_UP_MAX: usize = 10;

/// How late something may be, and what several that were missed come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MisfirePolicy {
    /// So late it is still run.
    pub grace: SignedDuration,
    /// Of several only the newest is run.
    pub coalesces: bool,
}

/// What is to be done about a rule that is due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MisfirePlan {
    /// To be run, the oldest first.
    pub run: Vec<Timestamp>,
    /// Over: too late, or one of those for which the newest is run.
    pub missed: Vec<Timestamp>,
    /// When it is due again; none: never.
    pub next: Option<Timestamp>,
}

impl MisfirePolicy {
    /// The plan at `now` for a rule that was due at `due` and not looked at since.
    pub fn plan(&self, rule: &Rule, zone: &TimeZone, due: Timestamp, now: Timestamp) -> MisfirePlan {
        let (newest, others) = rule.newest(zone, due, now);
        let next = rule.next(zone, now);
        let earlier = std::iter::successors(others.then_some(due), |last| rule.next(zone, *last));
        let earlier = earlier.take_while(|at| *at < newest);
        let in_time = |at: &Timestamp| now.duration_since(*at) <= self.grace;
        if self.coalesces {
            let mut missed: Vec<Timestamp> = earlier.take(MISSED_MAX).collect();
            let run = if in_time(&newest) { vec![newest] } else { Vec::new() };
            missed.extend(run.is_empty().then_some(newest));
            return MisfirePlan { run, missed, next };
        }
        let missed = earlier.clone().take_while(|at| !in_time(at)).take(MISSED_MAX);
        let mut missed: Vec<Timestamp> = missed.collect();
        let start = now.checked_sub(self.grace).map_or(due, |start| start.max(due));
        let late =
            std::iter::successors(rule.next(zone, start - SignedDuration::from_secs(1)), |last| rule.next(zone, *last));
        let run: Vec<Timestamp> = late.take_while(|at| *at <= now).take(CAUGHT_UP_MAX).collect();
        missed.extend((run.is_empty() && !missed.contains(&newest)).then_some(newest));
        MisfirePlan { run, missed, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::schedule::read::read;

    /// The hours of what is run, of what is missed, and of the next, by a rule that was due at midnight.
    fn plan(rule: &str, now: &str, grace_hours: i64, coalesces: bool) -> (Vec<String>, Vec<String>, Option<String>) {
        let at = |text: &str| format!("2026-11-21T{text}Z").parse::<Timestamp>().unwrap();
        let zone = TimeZone::UTC;
        let rule = read(rule, &zone, "2026-11-20T12:00:00Z".parse().unwrap()).unwrap();
        let misfire = MisfirePolicy { grace: SignedDuration::from_hours(grace_hours), coalesces };
        let MisfirePlan { run, missed, next } = misfire.plan(&rule, &zone, at("00:00:00"), at(now));
        let shown = |at: &Timestamp| at.strftime("%d %H").to_string();
        (run.iter().map(shown).collect(), missed.iter().map(shown).collect(), next.as_ref().map(shown))
    }

    #[test]
    fn n13_what_was_slept_through_is_run_late_or_missed() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        for (rule, now, grace, coalesces, run, missed, next) in [
            ("every hour", "00:00:00", 1, true, &["21 00"][..], &[][..], Some("21 01")),
            ("every hour", "00:59:59", 1, true, &["21 00"], &[], Some("21 01")),
            ("every hour", "03:10:00", 1, true, &["21 03"], &["21 00", "21 01", "21 02"], Some("21 04")),
            ("every hour", "03:10:00", 1, false, &["21 03"], &["21 00", "21 01", "21 02"], Some("21 04")),
            ("every hour", "03:10:00", 2, false, &["21 02", "21 03"], &["21 00", "21 01"], Some("21 04")),
            ("every hour", "03:10:00", 9, false, &["21 00", "21 01", "21 02", "21 03"], &[], Some("21 04")),
            ("every day at 0:00", "00:59:00", 1, true, &["21 00"], &[], Some("22 00")),
            ("every day at 0:00", "01:00:00", 1, true, &["21 00"], &[], Some("22 00")),
            ("every day at 0:00", "01:00:01", 1, true, &[], &["21 00"], Some("22 00")),
            ("every day at 0:00", "01:00:01", 1, false, &[], &["21 00"], Some("22 00")),
            ("every day at 0:00", "00:00:01", 0, true, &[], &["21 00"], Some("22 00")),
            ("on 21 November at 0:00", "00:30:00", 1, true, &["21 00"], &[], None),
            ("on 21 November at 0:00", "02:00:00", 1, true, &[], &["21 00"], None),
        ] {
            let expected = (texts(run), texts(missed), next.map(str::to_owned));
            assert_eq!(plan(rule, now, grace, coalesces), expected, "{rule} {now} {grace} {coalesces}");
        }
    }

    #[test]
    fn n13_what_is_made_up_for_is_bounded() {
        let (run, missed, _) = plan("* * * * *", "20:00:00", 1, true);
        assert_eq!((run.len(), missed.len()), (1, MISSED_MAX));
        let (run, missed, _) = plan("* * * * *", "20:00:00", 1, false);
        assert_eq!((run.len(), missed.len()), (CAUGHT_UP_MAX, MISSED_MAX));
    }
}
