"""The running process: its code, signals, extensions and commands."""
