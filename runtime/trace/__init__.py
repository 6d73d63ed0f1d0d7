"""Tracing: handles that stand for run-time values and record what is done to them."""
