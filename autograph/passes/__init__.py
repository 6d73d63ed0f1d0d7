"""Source rewrites, gast to gast, one construct each."""
