"""Reverse mode as a transformation of graphs: forward and backward in one graph."""
