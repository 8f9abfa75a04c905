"""What a run reports: metrics, sinks, the report page."""
