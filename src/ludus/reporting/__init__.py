"""Reports of a run: metrics, sinks, the report page."""
