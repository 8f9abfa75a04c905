"""Members of a league in other processes: each learns and plays there, and the league's manager is here."""
