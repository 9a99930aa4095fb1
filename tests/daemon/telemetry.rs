//! What is seen of Hob from outside: metrics that Prometheus reads, traces that a collector takes (row N11).

#![expect(clippy::disallowed_methods, reason = "a task of a test ends with it, and its panic is seen there")]

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use axum::Router as Routes;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::process::Command;

use hob_testkit::fake_model::Reply;
use hob_testkit::served::Served;
use hob_testkit::test_hob::{ADA, TestHob};

/// A collector that keeps what it is sent.
struct Collector {
    taken: TakenRequests,
    served: Served,
}

type TakenRequests = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

impl Collector {
    async fn start() -> Self {
        let taken = TakenRequests::default();
        let routes = Routes::new().route("/v1/traces", post(Self::take)).with_state(Arc::clone(&taken));
        Self { taken, served: Served::start(routes).await }
    }

    async fn take(State(taken): State<TakenRequests>, headers: HeaderMap, body: Bytes) -> StatusCode {
        taken.lock().unwrap().push((headers, body));
        StatusCode::OK
    }

    fn requests(&self) -> Vec<ExportTraceServiceRequest> {
        let taken = self.taken.lock().unwrap();
        taken.iter().map(|(_, body)| ExportTraceServiceRequest::decode(body.clone()).unwrap()).collect()
    }

    fn spans(&self) -> Vec<Span> {
        let resources = self.requests().into_iter().flat_map(|request| request.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }
}

fn attribute(span: &Span, key: &str) -> Option<String> {
    let kept = span.attributes.iter().find(|kept| kept.key == key)?;
    Some(match kept.value.as_ref()?.value.as_ref()? {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    })
}

/// What a program in Python makes of this.
async fn read_by(program: &str, input: &str) -> String {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python-clients/bin/python");
    assert!(python.exists(), "the clients are missing: run scripts/python-clients (it needs a network, once)");
    let mut command = Command::new(python);
    command.args(["-c", program]).env_clear().kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A page that Hob serves.
async fn page(hob: &mut TestHob, path: &str) -> String {
    let log = hob.process().log();
    let address = log.lines().find(|line| line.contains("server.listening")).unwrap().split("address=").nth(1).unwrap();
    let address = format!("http://{}{path}", address.split_whitespace().next().unwrap());
    let client = hob_http::direct_client(std::time::Duration::from_secs(10)).unwrap();
    client.get(address).send().await.unwrap().text().await.unwrap()
}

/// A turn with a tool.
async fn turn(hob: &TestHob) {
    hob.model.reply(Reply::call("recall", r#"{"query": "private bins"}"#));
    assert_eq!(hob.ask(ADA, "a private word on bins", Reply::text("A private answer.")).await, "A private answer.");
}

async fn traced(settings: &str) -> (TestHob, Collector) {
    let collector = Collector::start().await;
    let mut hob = TestHob::running(&format!(
        "[telemetry]\notlp = '{}'\nservice_name = 'household'\nheaders = {{ X-Api-Key = 'k-1234567890' }}\n{settings}",
        collector.served.root()
    ))
    .await;
    turn(&hob).await;
    assert!(hob.stop().await.success());
    (hob, collector)
}

#[tokio::test]
async fn n11_a_run_is_one_trace_in_the_words_of_the_conventions() {
    let (_house, collector) = traced("").await;
    let spans = collector.spans();
    let run = spans.iter().find(|span| span.name == "invoke_agent hob").unwrap();
    let mut within: Vec<&Span> = spans.iter().filter(|span| span.trace_id == run.trace_id).collect();
    within.sort_by_key(|span| span.start_time_unix_nano);
    let names: Vec<&str> = within.iter().map(|span| span.name.as_str()).collect();
    let chat = within.iter().find(|span| span.name.starts_with("chat ")).unwrap();
    assert_eq!(
        names,
        ["invoke_agent hob", "memory.recall", chat.name.as_str(), "execute_tool recall", chat.name.as_str()]
    );
    assert!(within[1..].iter().all(|span| span.parent_span_id == run.span_id), "each is a part of the run");
    assert_eq!(attribute(run, "gen_ai.operation.name").as_deref(), Some("invoke_agent"));
    assert_eq!(attribute(run, "gen_ai.conversation.id"), attribute(run, "session"));
    assert_eq!(attribute(run, "channel").as_deref(), Some("telegram"));
    assert!(attribute(run, "run").is_some());
    let keys = [
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.response.model",
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.output_tokens",
    ];
    for key in keys {
        assert!(attribute(chat, key).is_some(), "{key}: {chat:?}");
    }
    let tool = within.iter().find(|span| span.name == "execute_tool recall").unwrap();
    assert_eq!(attribute(tool, "gen_ai.tool.name").as_deref(), Some("recall"));
    let sent = spans.iter().find(|span| span.name == "outbox.send").unwrap();
    assert_eq!(attribute(sent, "run"), attribute(run, "run"));
    assert_eq!(attribute(sent, "session"), attribute(run, "session"));
    assert!(spans.iter().any(|span| span.name == "router.accept"));
    let all = format!("{spans:?}");
    assert!(!all.contains("private"), "nothing that anybody said: {all}");
    let taken = collector.taken.lock().unwrap().clone();
    assert!(taken.iter().all(|(headers, _)| headers["x-api-key"] == "k-1234567890"));
    let bodies: Vec<String> =
        taken.iter().map(|(_, body)| body.iter().map(|byte| format!("{byte:02x}")).collect()).collect();
    let read = read_by(include_str!("foreign/traces.py"), &bodies.join("\n")).await;
    let mut lines: Vec<&str> = read.lines().filter(|line| line.contains('_')).collect();
    lines.sort_unstable();
    lines.dedup();
    assert!(lines.contains(&"household SPAN_KIND_INTERNAL invoke_agent hob"), "{read}");
    assert!(lines.contains(&format!("household SPAN_KIND_CLIENT {}", chat.name).as_str()), "{read}");
}

#[tokio::test]
async fn contents_are_told_when_asked_for_and_without_secrets() {
    let (_house, collector) = traced("content = true").await;
    let spans = collector.spans();
    let told = |name: &str, key: &str| {
        let span = spans.iter().find(|span| span.name.starts_with(name) && attribute(span, key).is_some());
        span.and_then(|span| attribute(span, key)).unwrap_or_else(|| panic!("{key} is missing"))
    };
    assert!(told("chat ", "gen_ai.input.messages").contains("a private word on bins"));
    assert!(told("execute_tool ", "gen_ai.tool.call.arguments").contains("private bins"));
    assert!(spans.iter().any(|span| attribute(span, "gen_ai.output.messages").as_deref() == Some("A private answer.")));
    assert!(!format!("{spans:?}").contains("k-1234567890"), "a secret of the config is in no span");
}

#[tokio::test]
async fn a_dead_collector_costs_a_counted_loss_and_nothing_else() {
    // Nobody listens there any more.
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let settings = format!("[telemetry]\notlp = 'http://{gone}'\n[server]\nlisten = '127.0.0.1:0'");
    let mut hob = TestHob::running(&settings).await;
    turn(&hob).await;
    hob.process().until_log("telemetry.lost").await;
    let metrics = page(&mut hob, "/metrics").await;
    let lost = metrics.lines().find_map(|line| line.strip_prefix("hob_trace_spans_lost_total ")).unwrap();
    assert!(lost.parse::<u64>().unwrap() > 0 && metrics.contains("hob_trace_spans_sent_total 0\n"), "{metrics}");
    turn(&hob).await;
    assert!(hob.stop().await.success());
}

#[tokio::test]
async fn n11_a_collector_that_never_answers_holds_up_nobody() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut hob = TestHob::with(&format!("[telemetry]\notlp = 'http://{}'", listener.local_addr().unwrap())).await;
    // It is reached, and that is all.
    tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            held.push(listener.accept().await.unwrap());
        }
    });
    hob.start().await;
    turn(&hob).await;
    hob.process().signal(rustix::process::Signal::TERM);
    hob.process().until_log("the last traces could not be sent in time").await;
    assert!(hob.process().ended().await.success());
}

#[tokio::test]
async fn n11_prometheus_reads_the_page_and_the_dashboard_asks_for_what_is_on_it() {
    let mut hob = TestHob::running("[server]\nlisten = '127.0.0.1:0'").await;
    turn(&hob).await;
    hob.recorded(1).await;
    let metrics = page(&mut hob, "/metrics").await;
    assert!(!metrics.contains("private") && !metrics.contains("Person"), "{metrics}");
    let read = read_by(include_str!("foreign/metrics.py"), &metrics).await;
    insta::assert_snapshot!(read, @r"
    hob_ready gauge
    hob_degraded gauge
    hob_model_ready gauge model
    hob_embeddings_ready gauge
    hob_embeddings_backlog gauge
    hob_channel_connected gauge account channel
    hob_channel_heard_age_seconds gauge account channel
    hob_channel_message_age_seconds gauge account channel
    hob_channel_sent_age_seconds gauge account channel
    hob_outbox_open gauge
    hob_outbox_oldest_age_seconds gauge
    hob_queue_open gauge
    hob_queue_oldest_age_seconds gauge
    hob_runs_open gauge
    hob_messages counter channel outcome
    hob_runs counter outcome
    hob_stage_seconds histogram stage
    hob_model_calls counter model outcome
    hob_model_call_seconds histogram model
    hob_tokens counter kind model
    hob_cost_usd counter
    hob_tool_calls counter outcome tool
    hob_tool_call_seconds histogram tool
    hob_deliveries counter channel outcome
    hob_recall_seconds histogram
    hob_config_reloads counter
    hob_trace_spans_sent counter
    hob_trace_spans_lost counter
    hob_store_statements counter
    hob_store_commit_seconds histogram
    hob_store_waiting gauge
    hob_store_file_bytes gauge
    hob_store_wal_bytes gauge
    hob_store_pages gauge
    hob_store_free_pages gauge
    hob_disk_free_bytes gauge
    hob_build_info gauge version
    hob_uptime_seconds gauge
    process_resident_memory_bytes gauge
    process_open_fds gauge
    ");
    for line in [
        "hob_messages_total{channel=\"telegram\",outcome=\"committed\"} 1",
        "hob_runs_total{outcome=\"completed\"} 1",
        "hob_stage_seconds_count{stage=\"queued\"} 1",
        "hob_stage_seconds_count{stage=\"first_token\"} 1",
        "hob_stage_seconds_count{stage=\"answered\"} 1",
        "hob_stage_seconds_count{stage=\"sent\"} 1",
        "hob_tool_calls_total{tool=\"recall\",outcome=\"done\"} 1",
        "hob_deliveries_total{channel=\"telegram\",outcome=\"delivered\"} 1",
        "hob_recall_seconds_count 1",
        "hob_channel_sent_age_seconds{channel=\"telegram\",account=\"default\"} ",
    ] {
        assert!(metrics.lines().any(|there| there.starts_with(line)), "{line} is missing in:\n{metrics}");
    }
    let names: Vec<&str> = metrics.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    let dashboard = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/grafana.json")).unwrap();
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    let asked: Vec<&str> = targets.map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(asked.len() >= 15, "{asked:?}");
    for expression in asked {
        let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        for word in words.filter(|word| word.starts_with("hob_") || word.starts_with("process_")) {
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| word.strip_suffix(end)).unwrap_or(word);
            assert!(names.contains(&word) || names.contains(&family), "{word} is on no page");
        }
    }
}
