"""The op table, one frozen row per op, in families."""
