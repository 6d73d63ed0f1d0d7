"""What generated code calls: static or staged is decided here, value by value."""
