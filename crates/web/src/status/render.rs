//! The report as people read it.

use std::fmt;

use crate::status::{AccountStatus, PartTrouble, RunStatus, Spending, StatusReport, StoreStatus, UpcomingTask};
use hob_core::domain::inbound::DEFAULT_ACCOUNT;
use hob_core::domain::money::Money;
use hob_core::domain::text::{counted, size, span};
use hob_router::cost::with_unpriced;
use hob_router::workload::{Backlog, listed};

impl fmt::Display for StatusReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.up_secs.filter(|_| self.running) {
            Some(up) => writeln!(f, "Hob {}, up {}", self.version, span(up))?,
            None => writeln!(
                f,
                "Hob is not running (this is hob {}; `hob run` starts it); its database says:",
                self.version
            )?,
        }
        match &self.config {
            Some(config) => writeln!(f, "config: {}", config.display())?,
            None => writeln!(f, "config: none")?,
        }
        for PartTrouble { part, age_secs, what, fix } in &self.degraded {
            writeln!(f, "degraded: {part}, for {}: {what}; {fix}", span(*age_secs))?;
        }
        self.channels.iter().try_for_each(|account| writeln!(f, "{account}"))?;
        let models: Vec<String> = self.models.iter().map(|(role, label)| format!("{label} ({role})")).collect();
        if !models.is_empty() {
            writeln!(f, "models: {}", models.join(", "))?;
        }
        self.resting.iter().try_for_each(|resting| writeln!(f, "resting: {resting}"))?;
        match &self.books {
            Some(books) => write!(f, "{books}")?,
            None if self.running => writeln!(f, "database: no answer; `hob doctor` looks why")?,
            None => writeln!(f, "database: none yet; `hob init` sets Hob up, `hob chat` talks with it here")?,
        }
        match self.backup_age_secs {
            Some(age) => writeln!(f, "backup: {} ago", span(age))?,
            None => writeln!(f, "backup: none")?,
        }
        let disk =
            self.disk_free_bytes.map_or_else(|| "cannot be asked".to_owned(), |free| format!("{} free", size(free)));
        writeln!(f, "data: {} ({disk})", self.data_dir.display())?;
        self.state.iter().try_for_each(|state| writeln!(f, "state: {state}"))
    }
}

impl fmt::Display for AccountStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.channel)?;
        if self.account != DEFAULT_ACCOUNT {
            write!(f, " ({})", self.account)?;
        }
        write!(f, ": {}", self.state)?;
        if let Some(name) = &self.name {
            write!(f, " as {name}")?;
        }
        if let Some(heard) = self.heard_age_secs {
            write!(f, ", heard {} ago", span(heard))?;
        }
        if let Some(message) = self.message_age_secs {
            write!(f, ", last message {} ago", span(message))?;
        }
        self.why.iter().try_for_each(|why| write!(f, "; {why}"))
    }
}

impl fmt::Display for StoreStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backlog = |state: &String, count, oldest_age_secs| Backlog { state: state.clone(), count, oldest_age_secs };
        let waited = |state: &str| self.queue_age_secs.filter(|_| state == "queued");
        let runs = self.runs.iter().map(|(state, count)| backlog(state, *count, waited(state)));
        writeln!(f, "runs: {}", listed(runs, "none"))?;
        for RunStatus { run, session, state, age_secs } in &self.at_work {
            writeln!(f, "  run {run} in {session}: {state}, {}", span(*age_secs))?;
        }
        let outbox = self.outbox.iter().map(|(state, of)| backlog(state, of.count, Some(of.oldest_age_secs)));
        writeln!(f, "outbox: {}", listed(outbox, "empty"))?;
        let Spending { calls, unpriced, input_tokens, output_tokens, cost_nanousd, .. } = self.today;
        let cost = with_unpriced(Money::from_nanos(cost_nanousd), unpriced);
        let calls = counted(calls, "model call", "model calls");
        writeln!(f, "today: {calls}, {input_tokens} tokens in, {output_tokens} out, {cost}")?;
        for UpcomingTask { schedule, in_secs, what } in &self.next {
            match *in_secs {
                late if late < 0 => writeln!(f, "due for {}: {what} (schedule {schedule})", span(-late))?,
                soon => writeln!(f, "in {}: {what} (schedule {schedule})", span(soon))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::status::OutboxBacklog;

    fn report() -> StatusReport {
        let account = |channel: &str, account: &str, state: &str| AccountStatus {
            channel: channel.to_owned(),
            account: account.to_owned(),
            state: state.to_owned(),
            why: None,
            name: None,
            heard_age_secs: None,
            message_age_secs: None,
            sent_age_secs: None,
        };
        let waiting = OutboxBacklog { count: 2, oldest_age_secs: 90 };
        StatusReport {
            version: "0.1.0".to_owned(),
            running: true,
            up_secs: Some(4_000),
            config: Some("/etc/hob/config.toml".into()),
            data_dir: "/var/lib/hob".into(),
            state: None,
            degraded: vec![PartTrouble {
                part: "disk".to_owned(),
                age_secs: 61,
                what: "90 MB are left".to_owned(),
                fix: "free some".to_owned(),
            }],
            channels: vec![
                AccountStatus {
                    name: Some("@hob_bot".to_owned()),
                    heard_age_secs: Some(3),
                    message_age_secs: Some(7_300),
                    ..account("telegram", "default", "connected")
                },
                AccountStatus { why: Some("no connection".to_owned()), ..account("slack", "work", "down") },
            ],
            models: vec![("primary".to_owned(), "anthropic/x".to_owned())],
            resting: vec!["anthropic/x for 42 s (overloaded)".to_owned()],
            books: Some(StoreStatus {
                runs: BTreeMap::from([("queued".to_owned(), 1), ("running".to_owned(), 1)]),
                queue_age_secs: Some(5),
                at_work: vec![RunStatus { run: 7, session: "7".to_owned(), state: "running".to_owned(), age_secs: 12 }],
                outbox: BTreeMap::from([("pending".to_owned(), waiting)]),
                today: Spending {
                    calls: 3,
                    unpriced: 1,
                    cached_tokens: 0,
                    input_tokens: 1_200,
                    output_tokens: 80,
                    cost_nanousd: 12_000_000,
                },
                next: vec![
                    UpcomingTask { schedule: 2, in_secs: -70, what: "water the plants".to_owned() },
                    UpcomingTask { schedule: 1, in_secs: 3_700, what: "bins".to_owned() },
                ],
            }),
            backup_age_secs: Some(90_000),
            disk_free_bytes: Some(12_345_678_901),
        }
    }

    #[test]
    fn n11_all_on_one_screen() {
        let report = report();
        insta::assert_snapshot!(report, @r"
        Hob 0.1.0, up 1 h 6 min
        config: /etc/hob/config.toml
        degraded: disk, for 1 min: 90 MB are left; free some
        telegram: connected as @hob_bot, heard 3 s ago, last message 2 h 1 min ago
        slack (work): down; no connection
        models: anthropic/x (primary)
        resting: anthropic/x for 42 s (overloaded)
        runs: 1 queued (oldest 5 s), 1 running
          run 7 in 7: running, 12 s
        outbox: 2 pending (oldest 1 min)
        today: 3 model calls, 1200 tokens in, 80 out, $0.012 and 1 call of unknown price
        due for 1 min: water the plants (schedule 2)
        in 1 h 1 min: bins (schedule 1)
        backup: 25 h 0 min ago
        data: /var/lib/hob (12.3 GB free)
        ");
        let text = serde_json::to_string(&report).unwrap();
        assert_eq!(serde_json::from_str::<StatusReport>(&text).unwrap(), report);
    }
}
