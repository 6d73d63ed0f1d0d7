"""Graphs in, arrays out: the tracing runtime, usable by hand without any source rewriting."""
