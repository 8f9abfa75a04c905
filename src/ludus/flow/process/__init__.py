"""The running process: its code, signals and extensions."""
