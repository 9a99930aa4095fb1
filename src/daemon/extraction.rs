//! Facts are drawn from conversations that are over, and looked through from time to time, as long as Hob runs.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use hob_memory::extraction::{CALLS_PER_PASS, Extractor, PassReport};

/// How often it is looked whether a conversation is over.
const EVERY: Duration = Duration::from_secs(60);
/// The wait where there is more to do, but no money, no calls left in the hour, or nobody who answers.
const PAUSE: Duration = Duration::from_secs(600);

/// Goes on until the stop. A call that the stop cuts off is closed at the next start, and made again.
/// Where nothing is to be drawn, what is known is looked through all the same.
pub(super) async fn draw_facts(extractor: Extractor, draws: bool, stop: CancellationToken) {
    match extractor.recover().await {
        Ok(0) => {}
        Ok(calls) => tracing::info!(calls, "memory.calls_lost"),
        Err(error) => tracing::warn!(%error, "memory's open calls could not be closed"),
    }
    loop {
        let work = async {
            let pass = if draws { extractor.run_pass().await } else { Ok(PassReport::default()) };
            let wait = match pass {
                Ok(pass) => {
                    tell(&pass);
                    // More calls than go into one pass wait for the next, those that may not be made for longer.
                    if pass.waits && pass.calls < CALLS_PER_PASS { PAUSE } else { EVERY }
                }
                Err(error) => {
                    tracing::warn!(%error, "facts could not be drawn from what was said");
                    PAUSE
                }
            };
            match extractor.consolidate().await {
                Ok(0) => {}
                Ok(merged) => tracing::info!(facts.merged = merged, "memory.consolidated"),
                Err(error) => tracing::warn!(%error, "facts could not be looked through"),
            }
            tokio::time::sleep(wait).await;
        };
        tokio::select! {
            () = stop.cancelled() => return,
            () = work => {}
        }
    }
}

fn tell(pass: &PassReport) {
    if pass.calls > 0 {
        tracing::info!(
            calls = pass.calls,
            facts.kept = pass.kept,
            facts.known = pass.known,
            facts.rivals = pass.rivals,
            facts.dropped = pass.dropped,
            waits = pass.waits,
            "memory.extracted"
        );
    }
}
