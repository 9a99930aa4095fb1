"""Reads a page of metrics (standard input) with Prometheus's own client; prints each family's name, type and labels."""

import sys

from prometheus_client.parser import text_string_to_metric_families

for family in text_string_to_metric_families(sys.stdin.read()):
    labels = sorted({name for sample in family.samples for name in sample.labels if name != "le"})
    assert family.documentation, family.name
    print(family.name, family.type, *labels)
