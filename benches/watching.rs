//! What it costs to be watched: turns with and without log and traces, and a scrape of `/metrics`.
//!
//! `cargo bench --bench watching [-- telemetry|metrics]`; the numbers and what they mean are in docs/performance.md.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark speaks to a person and fails loudly"
)]

#[path = "watching/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use hob_telemetry::Format;
use hob_telemetry::otlp::OtlpSettings;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use world::World;

fn percentile(sorted: &[Duration], share: f64) -> Duration {
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

/// How a process of the comparison is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watched {
    /// Not at all: no log either.
    Not,
    /// By the log alone, as a daemon that configures nothing.
    Log,
    /// By the log and a collector of traces.
    Traces,
}

/// Turns per second of 10 sessions in a process of its own, which is watched like this.
async fn one(directory: &Path, watched: Watched, collector: Option<String>) {
    let sink = hob_telemetry::Sink::File(Path::new("/dev/null"));
    let exporting = match (watched, collector) {
        (Watched::Traces, Some(endpoint)) => {
            let otlp = OtlpSettings {
                endpoint,
                headers: Vec::new(),
                service_name: "bench".to_owned(),
                sample_ratio: 1.0,
                content: false,
                client: hob_http::direct_client(Duration::from_secs(5)).unwrap(),
            };
            Some(hob_telemetry::start_traced(sink, Format::Text, "info", otlp).unwrap().begin())
        }
        (Watched::Log | Watched::Traces, _) => {
            hob_telemetry::start(sink, Format::Text, "info").unwrap();
            None
        }
        (Watched::Not, _) => None,
    };
    let world = Arc::new(World::open(directory).await);
    let (sessions, turns) = (10, 300);
    let begun = Instant::now();
    let talking: Vec<_> = (0..sessions)
        .map(|index| {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                for _ in 0..turns {
                    world.turn(&index.to_string()).await;
                }
            })
        })
        .collect();
    for talk in talking {
        talk.await.unwrap();
    }
    let rate = f64::from(sessions * turns) / begun.elapsed().as_secs_f64();
    world.store.close().await;
    if let Some(exporting) = exporting {
        exporting.end(Duration::from_secs(5)).await;
    }
    println!("{rate}");
}

/// A collector that takes everything at once.
async fn collector() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let routes = axum::Router::new().fallback(|_: axum::body::Bytes| async { axum::http::StatusCode::OK });
    tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
    address
}

/// What watching costs: the same turns in processes that are watched differently, by turns, seven rounds.
async fn watching() {
    let address = collector().await;
    let kinds = [("not", "no log"), ("log", "telemetry off"), ("traces", "telemetry on")];
    let mut rates: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for _ in 0..7 {
        for (kind, _) in kinds {
            let mut child = tokio::process::Command::new(std::env::current_exe().unwrap());
            let output = child.args(["one", kind, &address]).output().await.unwrap();
            let rate = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
            rates.entry(kind).or_default().push(rate);
        }
    }
    let median = |kind: &str| {
        let mut all = rates[kind].clone();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    for (kind, told) in kinds {
        println!("{told:>14}: {:>6.0} turns/s (median of 7)", median(kind));
    }
    println!("off / no log: {:.3}   on / off: {:.3}", median("log") / median("not"), median("traces") / median("log"));
}

/// How long `/metrics` takes with 20,000 turns in the database.
async fn scrape(directory: &Path) {
    let world = Arc::new(World::open(directory).await);
    let talking: Vec<_> = (0..100)
        .map(|index| {
            let world = Arc::clone(&world);
            tokio::spawn(async move {
                for _ in 0..200 {
                    world.turn(&index.to_string()).await;
                }
            })
        })
        .collect();
    for talk in talking {
        talk.await.unwrap();
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/metrics", listener.local_addr().unwrap());
    let stop = CancellationToken::new();
    let routes = hob_web::health::routes(Arc::clone(&world.router));
    let served = tokio::spawn(hob_web::serve::serve(listener, routes, stop.clone()));
    let client = hob_http::direct_client(Duration::from_secs(5)).unwrap();
    let (mut took, mut bytes) = (Vec::new(), 0);
    for _ in 0..500 {
        let begun = Instant::now();
        bytes = client.get(&address).send().await.unwrap().text().await.unwrap().len();
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    println!(
        "/metrics after 20,000 turns: {bytes} bytes  p50 {:?}  p99 {:?}",
        percentile(&took, 0.5),
        percentile(&took, 0.99)
    );
    stop.cancel();
    served.await.unwrap();
    world.store.close().await;
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wanted = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    let runs = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    // On the disk the daemon would use, not in a memory file system.
    let directory = |name: &str| {
        let path = std::env::current_dir().unwrap().join("target/bench").join(name);
        if path.exists() {
            std::fs::remove_dir_all(&path).unwrap();
        }
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    if let [mode, kind, address] = arguments.as_slice()
        && mode == "one"
    {
        let watched = match kind.as_str() {
            "not" => Watched::Not,
            "log" => Watched::Log,
            _ => Watched::Traces,
        };
        return runtime.block_on(one(&directory("one"), watched, Some(address.clone())));
    }
    if runs("telemetry") {
        runtime.block_on(watching());
    }
    if runs("metrics") {
        runtime.block_on(scrape(&directory("metrics")));
    }
}
