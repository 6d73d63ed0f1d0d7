"""The native executor: graphs as LLVM IR text, and what runs it."""
