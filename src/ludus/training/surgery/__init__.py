"""Surgery on whole runs: a new run directory whose run continues an old one with other settings."""
