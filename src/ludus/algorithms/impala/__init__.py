"""IMPALA: V-trace and a weighted policy gradient."""
