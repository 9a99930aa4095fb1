//! Keys that set what Hob decides by itself now: a file that has one can still be used, and whoever runs Hob is told (row N7).

use crate::document::Table;
use crate::load::Note;
use crate::renamed::{matches, path, take};

/// The keys that are gone, as paths in which `*` is any name, and what Hob does now.
pub(super) const GONE: [(&[&str], &str); 38] = [
    (&["provider", "connect_timeout_secs"], "waits 10 seconds for a connection"),
    (&["provider", "idle_timeout_secs"], "waits a minute between two pieces of an answer"),
    (&["transcription", "bytes_max"], "takes recordings of up to 25 MB"),
    (&["transcription", "timeout_secs"], "gives a recording 45 seconds"),
    (&["email", "poll_secs"], "looks once a minute where a server cannot tell of new letters"),
    (&["email", "letter_mb_max"], "reads letters of up to 16 MB whole"),
    (&["email_accounts", "*", "poll_secs"], "looks once a minute where a server cannot tell of new letters"),
    (&["email_accounts", "*", "letter_mb_max"], "reads letters of up to 16 MB whole"),
    (&["agent", "iterations_step"], "adds 10 model calls when a run asks for more"),
    (&["agent", "message_chars_max"], "takes messages of up to 128,000 characters"),
    (&["agent", "queue_len_max"], "lets 50 messages wait in a conversation"),
    (&["context", "compact_at_percent"], "compacts at 70 % of the window"),
    (&["context", "roll_at_percent"], "leaves the oldest out at 80 % of the window"),
    (&["context", "recoveries_max"], "lets a run recover four times from a full window"),
    (&["context", "recovery_span"], "takes stronger means when the window fills again within 20 steps"),
    (&["context", "summaries_max"], "makes three summaries in a run, then leaves the oldest out"),
    (&["memory", "extract_idle_minutes"], "takes a conversation for over after 30 minutes without a word"),
    (&["memory", "consolidate_hours"], "looks every six hours which facts belong together"),
    (&["memory", "half_life_days"], "lets memories count half after 90 days without use"),
    (&["memory", "retention_floor"], "forgets by age only what counts for less than 0.1 by then"),
    (&["guards", "window_calls"], "looks at a run's last 6 tool calls"),
    (&["guards", "identical_max"], "takes 3 identical calls among the last 6 for a circle"),
    (&["guards", "pattern_max"], "takes 4 calls of one tool among the last 6 for a circle, if they bring nothing new"),
    (&["guards", "stall_max"], "takes 3 similar calls in a row for a circle, if they bring nothing new"),
    (&["guards", "ping_pong_max"], "takes 6 calls back and forth for a circle, if they bring nothing new"),
    (&["guards", "replies_max"], "takes the same words said 3 times for a circle"),
    (&["webhooks", "*", "tolerance_secs"], "refuses calls whose time is more than 5 minutes off"),
    (&["terminal", "processes_max"], "lets a command have 512 processes"),
    (&["terminal", "file_mb"], "lets a command write files of up to 1 GiB"),
    (&["mcp", "*", "start_timeout_secs"], "gives a server a minute to start"),
    (&["upkeep", "claims_days"], "remembers for a year that a command was carried out"),
    (&["upkeep", "calls_days"], "keeps single calls of models for 400 days, and their sums for good"),
    (&["daemon", "lease_secs"], "takes a run over 90 seconds after its process went silent"),
    (&["daemon", "heartbeat_secs"], "gives a sign of life of each run every 30 seconds"),
    (&["daemon", "runs_parallel_max"], "lets up to 1,024 runs be active"),
    (&["delivery", "attempts_max"], "tries an answer up to 400 times, within delivery.age_max_secs"),
    (&["delivery", "backoff_max_secs"], "waits at most 5 minutes between two attempts"),
    (&["delivery", "stream_every_ms"], "changes a growing message every 1.5 seconds"),
];

/// Takes them out of a document, and tells of each.
pub(super) fn take_out(table: &mut Table) -> Vec<Note> {
    let mut notes = Vec::new();
    for (pattern, now) in GONE {
        for found in matches(table, pattern) {
            notes.extend(take(table, &found).map(|(line, _)| Note {
                key: path(&found),
                line: Some(line),
                what: format!("is gone: Hob {now} by itself"),
                fix: "remove it".to_owned(),
            }));
        }
    }
    notes
}
