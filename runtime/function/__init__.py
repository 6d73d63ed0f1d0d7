"""Polymorphic and concrete functions: signatures, guards, cache, dispatch."""
