"""Tests of tracing, on functional code written by hand."""
