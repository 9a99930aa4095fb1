"""Reads a request of OTLP (hexadecimal, standard input) with OpenTelemetry's own messages; prints the spans."""

import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

for line in sys.stdin:
    request = ExportTraceServiceRequest.FromString(bytes.fromhex(line.strip()))
    for resource in request.resource_spans:
        names = {kept.key: kept.value.string_value for kept in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                print(names["service.name"], Span.SpanKind.Name(span.kind), span.name)
