"""Metrics in the text form of Prometheus."""

from __future__ import annotations

import math

from crossbandit.service.http.metrics import BOUNDS, Family, RequestMetrics, metrics_text


def test_a_histogram_counts_what_is_at_most_each_bound() -> None:
    metrics = RequestMetrics()
    for seconds in (0.0005, 0.0006, 0.01, 99.0):
        metrics.note("/x", "GET", 200, seconds)
    metrics.note("/x", "GET", 404, 0.0)
    lines = metrics_text(metrics.families()).decode().splitlines()
    assert 'crossbandit_requests_total{path="/x",method="GET",status="200"} 4' in lines
    assert 'crossbandit_requests_total{path="/x",method="GET",status="404"} 1' in lines
    label = 'crossbandit_request_seconds_bucket{path="/x",method="GET",le='
    counts = {
        line.split('le="')[1].split('"')[0]: line.split()[-1] for line in lines if label in line
    }
    assert counts["0.0005"] == "2"
    assert counts["0.001"] == "3"
    assert counts["0.005"] == "3"
    assert counts["0.01"] == counts["5"] == "4"
    assert counts["+Inf"] == "5"
    assert len(counts) == len(BOUNDS) + 1
    assert 'crossbandit_request_seconds_count{path="/x",method="GET"} 5' in lines
    total = next(line for line in lines if "_sum" in line)
    assert math.isclose(float(total.split()[-1]), 99.0111)


def test_labels_are_escaped() -> None:
    family = Family("a", "gauge", "A.")
    family.add(0.5, bidder='x"\\\n')
    family.add(None, bidder="unknown")
    assert family.text().splitlines()[2:] == [r'crossbandit_a{bidder="x\"\\\n"} 0.5']


def test_a_metric_without_samples_is_left_out() -> None:
    assert metrics_text([Family("a", "gauge", "A.")]) == b""


def test_special_numbers() -> None:
    family = Family("a", "gauge", "A.")
    for value in (math.inf, -math.inf, math.nan, True, 1e20):
        family.add(value)
    found = [line.split()[-1] for line in family.text().splitlines()[2:]]
    assert found == ["+Inf", "-Inf", "NaN", "1", "1e+20"]
