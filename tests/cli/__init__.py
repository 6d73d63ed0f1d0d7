"""The command line, through its entry point and through a real process."""
