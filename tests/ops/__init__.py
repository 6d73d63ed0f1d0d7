"""Tests of the op table."""
