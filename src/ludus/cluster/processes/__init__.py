"""Processes of a cluster: started, watched, replaced, ended."""
