"""The training of a league: members, their orders and lanes, and the run of all of them in one process."""
