//! What the watchdog goes by, and what systemd is told: whether the channels' receive loops come round, and how they fare.
//!
//! Never: a channel taken for dead because its platform is down. Whoever waits out an outage comes round.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use hob_core::domain::health::{AccountHealth, ChannelHealth, Liveness, Pulse};
use hob_core::domain::inbound::ChannelKind;

/// So much later than it promised a loop may come round: a machine under load.
const MARGIN: Duration = Duration::from_secs(30);

/// Watches the receive loops. Time is the runtime's own, which stands still while the machine sleeps.
#[derive(Debug, Default)]
pub struct PulseMonitor {
    /// The last sign of life of each account, and when it was new.
    seen: BTreeMap<(ChannelKind, String), (Pulse, Instant)>,
}

impl PulseMonitor {
    /// Takes a look; gives the accounts whose loop is gone or stands still.
    pub fn look(&mut self, channels: &[AccountHealth], now: Instant) -> Vec<String> {
        let mut dead = Vec::new();
        let mut seen = BTreeMap::new();
        for AccountHealth { channel: kind, account, health } in channels {
            let Some(pulse) = health.pulse else { continue };
            let key = (*kind, account.clone());
            let since = match self.seen.get(&key) {
                Some((known, since)) if *known == pulse => *since,
                _ => now,
            };
            if now.duration_since(since) > pulse.within.saturating_add(MARGIN) {
                dead.push(format!("{kind} ({account})"));
            }
            seen.insert(key, (pulse, since));
        }
        // An account that is no longer there is forgotten.
        self.seen = seen;
        dead
    }
}

/// Has every platform been heard, or told that it is over?
pub fn all_heard(channels: &[AccountHealth]) -> bool {
    let is_heard = |health: &ChannelHealth| {
        health.heard_at.is_some() || health.pulse.is_none() || matches!(health.liveness, Liveness::Closed { .. })
    };
    channels.iter().all(|one| is_heard(&one.health))
}

/// How Hob fares, in a line for `systemctl status`. Why a platform refuses is in the log.
pub fn line(channels: &[AccountHealth], at_work: usize) -> String {
    let account = |AccountHealth { channel: kind, account, health }: &AccountHealth| {
        let name = if account == hob_core::domain::inbound::DEFAULT_ACCOUNT {
            kind.to_string()
        } else {
            format!("{kind} ({account})")
        };
        let stuck = if health.stuck.is_some() { ", messages wait" } else { "" };
        format!("{name}: {}{stuck}", health.liveness.as_str())
    };
    let runs = match at_work {
        0 => "idle".to_owned(),
        1 => "1 run at work".to_owned(),
        many => format!("{many} runs at work"),
    };
    channels.iter().map(account).chain([runs]).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use hob_core::domain::health::Monitor;

    fn account(name: &str, monitor: &Monitor) -> AccountHealth {
        let health = monitor.health(Timestamp::from_second(100).unwrap(), Duration::from_secs(60));
        AccountHealth { channel: ChannelKind::Telegram, account: name.to_owned(), health }
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_comes_round_lives_whatever_the_platform_does() {
        let (monitor, mut pulses) = (Monitor::default(), PulseMonitor::default());
        // An outage of an hour: each try is trouble, and the wait after it is told.
        for _ in 0..60 {
            monitor.troubled("no connection".to_owned());
            monitor.turned(Duration::from_secs(60));
            assert!(pulses.look(&[account("default", &monitor)], Instant::now()).is_empty());
            tokio::time::advance(Duration::from_secs(60)).await;
        }
        // The loop is gone: a panic, or a wait that nothing ends.
        tokio::time::advance(MARGIN).await;
        assert!(pulses.look(&[account("default", &monitor)], Instant::now()).is_empty());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(pulses.look(&[account("default", &monitor)], Instant::now()), ["telegram (default)"]);
        // It comes round again.
        monitor.turned(Duration::from_secs(5));
        assert!(pulses.look(&[account("default", &monitor)], Instant::now()).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_never_began_is_dead_and_what_has_none_is_not() {
        let (monitor, mut pulses) = (Monitor::default(), PulseMonitor::default());
        let plain = ChannelHealth::plain(Liveness::Connected, Timestamp::UNIX_EPOCH);
        let all = [
            account("a", &monitor),
            AccountHealth { channel: ChannelKind::Terminal, account: "tty".to_owned(), health: plain },
        ];
        assert!(pulses.look(&all, Instant::now()).is_empty());
        tokio::time::advance(MARGIN + Duration::from_secs(1)).await;
        assert_eq!(pulses.look(&all, Instant::now()), ["telegram (a)"]);
        // A channel that was taken away, and comes again later, begins anew.
        assert!(pulses.look(&[], Instant::now()).is_empty());
        assert!(pulses.look(&all, Instant::now()).is_empty());
    }

    #[test]
    fn n12_the_start_is_over_when_every_platform_was_heard() {
        let (one, other) = (Monitor::default(), Monitor::default());
        one.heard(Timestamp::from_second(99).unwrap());
        assert!(!all_heard(&[account("a", &one), account("b", &other)]));
        other.troubled("401".to_owned());
        assert!(!all_heard(&[account("a", &one), account("b", &other)]));
        insta::assert_snapshot!(line(&[account("default", &one), account("b", &other)], 2), @"telegram: connected; telegram (b): down; 2 runs at work");
        other.heard(Timestamp::from_second(99).unwrap());
        other.stuck("the disk is full".to_owned());
        assert!(all_heard(&[account("a", &one), account("b", &other)]));
        insta::assert_snapshot!(line(&[account("b", &other)], 0), @"telegram (b): connected, messages wait; idle");
        assert!(all_heard(&[]));
    }
}
