"""A stand-in for CuPy on machines without a GPU, and the tests that hold it to CuPy's own answers."""
