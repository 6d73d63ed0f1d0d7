"""The tests, in groups: plain (NumPy only, runs anywhere) and `gpu` (needs CuPy and a device)."""
