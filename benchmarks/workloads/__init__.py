"""The workloads: one module each; `benchmarks.peers` says what such a module holds."""
