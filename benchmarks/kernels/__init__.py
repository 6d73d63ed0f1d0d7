"""Small programs of many kinds: `benchmarks.beside_numba` runs them converted, plain and by numba."""
