//! Prometheus's text format, version 0.0.4.
//!
//! Never: a name without its help and type before it.
//! Start at [`MetricsPage`].

use std::fmt::{Arguments, Write as _};

use crate::metrics::{Counter, Family, Histogram, HistogramSnapshot};

/// What the page is served as.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// A page that is being written.
#[derive(Debug, Default)]
pub struct MetricsPage(String);

/// Labels and their values.
pub type Labels<'a> = &'a [(&'a str, &'a str)];

impl MetricsPage {
    /// The page.
    pub fn into_text(self) -> String {
        self.0
    }

    /// What goes up and down.
    pub fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, help, "gauge");
        self.sample(name, &[], value);
    }

    /// The same by labels; the samples follow.
    pub fn gauges(&mut self, name: &str, help: &str) {
        self.head(name, help, "gauge");
    }

    /// What only grows.
    pub fn counter(&mut self, name: &str, help: &str, value: f64) {
        self.head(name, help, "counter");
        self.sample(name, &[], value);
    }

    /// A family of counters; each counts so many units as one.
    #[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose their last digit")]
    pub fn counters(&mut self, name: &str, help: &str, family: &Family<Counter>, unit: f64) {
        self.head(name, help, "counter");
        for (values, counter) in family.all() {
            self.sample(name, &named(family.labels(), &values), counter.get() as f64 / unit);
        }
    }

    pub fn histograms(&mut self, name: &str, help: &str, family: &Family<Histogram>) {
        self.head(name, help, "histogram");
        for (values, histogram) in family.all() {
            self.spread(name, &named(family.labels(), &values), &histogram.spread());
        }
    }

    /// A histogram by itself.
    pub fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.head(name, help, "histogram");
        self.spread(name, &[], &histogram.spread());
    }

    /// One line of a metric whose head was written.
    pub fn sample(&mut self, name: &str, labels: Labels<'_>, value: f64) {
        self.line(format_args!("{name}{} {value}", braced(labels)));
    }

    #[expect(clippy::cast_precision_loss, reason = "counts beyond 2^53 lose their last digit")]
    fn spread(&mut self, name: &str, labels: Labels<'_>, spread: &HistogramSnapshot) {
        let bucket = format!("{name}_bucket");
        for (bound, count) in &spread.within {
            let bound = bound.to_string();
            self.sample(&bucket, &[labels, &[("le", bound.as_str())]].concat(), *count as f64);
        }
        self.sample(&bucket, &[labels, &[("le", "+Inf")]].concat(), spread.count as f64);
        self.sample(&format!("{name}_sum"), labels, spread.sum);
        self.sample(&format!("{name}_count"), labels, spread.count as f64);
    }

    fn head(&mut self, name: &str, help: &str, kind: &str) {
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    fn line(&mut self, line: Arguments<'_>) {
        if let Err(error) = writeln!(self.0, "{line}") {
            tracing::error!(%error, "metrics: a line has no form");
        }
    }
}

fn named<'a>(names: &[&'a str], values: &'a [String]) -> Vec<(&'a str, &'a str)> {
    names.iter().copied().zip(values.iter().map(String::as_str)).collect()
}

fn braced(labels: Labels<'_>) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let label = |(name, value): &(&str, &str)| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    };
    format!("{{{}}}", labels.iter().map(label).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_page_is_prometheus_text() {
        let mut page = MetricsPage::default();
        page.gauge("hob_ready", "Whether it is.", 1.0);
        let counters: Family<Counter> = Family::new(&["model", "kind"], Counter::default);
        counters.of(&["a/\"b\"\n", "in"]).add(2_500_000_000);
        page.counters("hob_cost_usd_total", "Dollars.", &counters, 1e9);
        let histograms: Family<Histogram> = Family::new(&["stage"], || Histogram::new(&[0.5, 60.0]));
        histograms.of(&["sent"]).observe(Duration::from_millis(1_500));
        page.histograms("hob_stage_seconds", "How long.", &histograms);
        insta::assert_snapshot!(page.into_text(), @r#"
        # HELP hob_ready Whether it is.
        # TYPE hob_ready gauge
        hob_ready 1
        # HELP hob_cost_usd_total Dollars.
        # TYPE hob_cost_usd_total counter
        hob_cost_usd_total{model="a/\"b\"\n",kind="in"} 2.5
        # HELP hob_stage_seconds How long.
        # TYPE hob_stage_seconds histogram
        hob_stage_seconds_bucket{stage="sent",le="0.5"} 0
        hob_stage_seconds_bucket{stage="sent",le="60"} 1
        hob_stage_seconds_bucket{stage="sent",le="+Inf"} 1
        hob_stage_seconds_sum{stage="sent"} 1.5
        hob_stage_seconds_count{stage="sent"} 1
        "#);
    }
}
