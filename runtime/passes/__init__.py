"""Graph to graph passes: pure functions, listed in order in the pipeline."""
