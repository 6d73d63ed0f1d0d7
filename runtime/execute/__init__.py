"""Plans: a graph printed as source text, loaded, and run."""
