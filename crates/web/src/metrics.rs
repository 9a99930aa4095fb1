//! `GET /metrics`: what was counted and how things stand, as Prometheus reads it (row N11).
//!
//! Never: words that anybody said, ids of people or chats, or a look through a table that grows.
//! Start at [`exposition`].

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::health::{Backlog, ChannelReport, DatabaseStats, HealthReport, build_report};
use hob_router::intake::Router;
use hob_store::writer::WriterMetrics;
use hob_telemetry::meters::Meters;
use hob_telemetry::metrics_page::{CONTENT_TYPE, MetricsPage};
use hob_telemetry::{otlp, process};

pub(super) async fn metrics(State(router): State<Arc<Router>>) -> Response {
    let (report, stats) = build_report(&router).await;
    let text = exposition(&report, stats.as_ref(), router.delivery.meters(), router.store.work());
    ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response()
}

fn exposition(report: &HealthReport, stats: Option<&DatabaseStats>, meters: &Meters, work: &WriterMetrics) -> String {
    let mut page = MetricsPage::default();
    write_gauges(&mut page, report);
    channels(&mut page, &report.channels);
    waiting(&mut page, report, stats);
    write_counters(&mut page, meters);
    database(&mut page, report, stats, work);
    this_process(&mut page, report);
    page.into_text()
}

fn write_gauges(page: &mut MetricsPage, report: &HealthReport) {
    page.gauge("hob_ready", "Whether the database answers and every channel hears.", as_number(report.ready));
    page.gauges("hob_degraded", "What does not work as it should.");
    for degraded in &report.degraded {
        page.sample("hob_degraded", &[("part", &degraded.part)], 1.0);
    }
    page.gauges("hob_model_ready", "Whether a model is asked: its breaker is closed.");
    for model in &report.models {
        page.sample("hob_model_ready", &[("model", &model.model)], as_number(model.state == "ready"));
    }
    page.gauge(
        "hob_embeddings_ready",
        "Whether memories are found by meaning.",
        as_number(report.embeddings.state == "ready"),
    );
    page.gauge("hob_embeddings_backlog", "Memories that wait for their vectors.", count(report.embeddings.backlog));
}

fn channels(page: &mut MetricsPage, channels: &[ChannelReport]) {
    type Of = fn(&ChannelReport) -> Option<f64>;
    let gauges: [(&str, &str, Of); 4] = [
        ("hob_channel_connected", "Whether a channel hears.", |channel| Some(as_number(channel.state == "connected"))),
        ("hob_channel_heard_age_seconds", "Since when the platform was not heard, from the receive path.", |channel| {
            channel.heard_age_secs.map(signed)
        }),
        ("hob_channel_message_age_seconds", "Since when no message came.", |channel| {
            channel.message_age_secs.map(signed)
        }),
        ("hob_channel_sent_age_seconds", "Since when nothing was sent there.", |channel| {
            channel.sent_age_secs.map(signed)
        }),
    ];
    for (name, help, of) in gauges {
        page.gauges(name, help);
        for channel in channels {
            let labels = [("channel", channel.channel), ("account", &*channel.account)];
            of(channel).into_iter().for_each(|value| page.sample(name, &labels, value));
        }
    }
}

fn waiting(page: &mut MetricsPage, report: &HealthReport, stats: Option<&DatabaseStats>) {
    let mut pair = |what: Option<Backlog>, names: [(&str, &str); 2]| {
        if let Some(Backlog { open, oldest_age_secs }) = what {
            page.gauge(names[0].0, names[0].1, signed(open));
            page.gauge(names[1].0, names[1].1, signed(oldest_age_secs));
        }
    };
    pair(
        report.outbox,
        [
            ("hob_outbox_open", "Chunks that are not delivered yet."),
            ("hob_outbox_oldest_age_seconds", "How long the oldest of them has waited."),
        ],
    );
    pair(
        report.queue,
        [
            ("hob_queue_open", "Messages that wait for their turn."),
            ("hob_queue_oldest_age_seconds", "How long the oldest of them has waited."),
        ],
    );
    page.gauges("hob_runs_open", "Runs that are not over, by state.");
    for state in stats.iter().flat_map(|stats| &stats.runs) {
        page.sample("hob_runs_open", &[("state", &state.state)], signed(state.count));
    }
}

fn write_counters(page: &mut MetricsPage, meters: &Meters) {
    page.counters("hob_messages_total", "What channels handed in, by what became of it.", &meters.messages, 1.0);
    page.counters("hob_runs_total", "Runs that came to their end, by how.", &meters.runs, 1.0);
    page.histograms("hob_stage_seconds", "How long each stage of an answer took.", &meters.stages);
    page.counters("hob_model_calls_total", "Calls of models, by what came of them.", &meters.model_calls, 1.0);
    page.histograms("hob_model_call_seconds", "How long calls of models took.", &meters.model_time);
    page.counters(
        "hob_tokens_total",
        "Tokens; cached and cache_write are a part of input, reasoning of output.",
        &meters.tokens,
        1.0,
    );
    page.counters("hob_cost_usd_total", "US dollars, where the price is known.", &meters.cost, 1e9);
    page.counters("hob_tool_calls_total", "Calls of tools, by what came of them.", &meters.tool_calls, 1.0);
    page.histograms("hob_tool_call_seconds", "How long calls of tools took.", &meters.tool_time);
    page.counters("hob_deliveries_total", "Attempts to deliver, by what came of them.", &meters.deliveries, 1.0);
    page.histogram("hob_recall_seconds", "How long it took to recall what bears on a message.", &meters.recall);
    page.counters("hob_config_reloads_total", "Reloads of the config, by what came of them.", &meters.reloads, 1.0);
    page.counter("hob_trace_spans_sent_total", "Spans that the collector took.", count(otlp::SENT.get()));
    page.counter("hob_trace_spans_lost_total", "Spans that nobody took.", count(otlp::LOST.get()));
}

fn database(page: &mut MetricsPage, report: &HealthReport, stats: Option<&DatabaseStats>, work: &WriterMetrics) {
    let database = report.database;
    page.counter("hob_store_statements_total", "Statements that were tried.", count(work.statements.get()));
    page.histogram("hob_store_commit_seconds", "How long transactions took, until they were durable.", &work.commits);
    page.gauge("hob_store_waiting", "Statements that wait for the writer.", count(database.waiting as u64));
    page.gauge("hob_store_file_bytes", "Bytes of the database.", count(database.file_bytes));
    page.gauge("hob_store_wal_bytes", "Bytes of its write-ahead log.", count(database.wal_bytes));
    if let Some(stats) = stats {
        page.gauge("hob_store_pages", "Pages of the database.", signed(stats.pages.all));
        page.gauge("hob_store_free_pages", "Pages of it that hold nothing.", signed(stats.pages.free));
    }
    if let Some(free) = report.disk.free_bytes {
        page.gauge("hob_disk_free_bytes", "Bytes that are free where the data is.", count(free));
    }
}

fn this_process(page: &mut MetricsPage, report: &HealthReport) {
    page.gauges("hob_build_info", "Which Hob this is.");
    page.sample("hob_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    page.gauge("hob_uptime_seconds", "Since when it runs.", signed(report.uptime_secs));
    if let Some(bytes) = process::resident_bytes() {
        page.gauge("process_resident_memory_bytes", "Memory that is really there.", count(bytes));
    }
    if let Some(open) = process::open_files() {
        page.gauge("process_open_fds", "Open file descriptors.", count(open));
    }
}

fn as_number(is_so: bool) -> f64 {
    f64::from(u8::from(is_so))
}

#[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose their last digit")]
fn count(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose their last digit")]
fn signed(count: i64) -> f64 {
    count as f64
}
