"""Tests of derivatives."""
