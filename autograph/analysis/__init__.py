"""Source analyses: each returns a table and never writes on nodes."""
