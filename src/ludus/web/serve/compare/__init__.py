"""Pages that compare players and runs: leagues and sweeps. Everything is read, nothing written."""
