"""Settings of Ray that every process of a cluster has. This module needs no Ray."""

from __future__ import annotations

#: Ray notices a machine that is gone after two seconds, instead of fifteen.
HEALTH = {
    "RAY_health_check_period_ms": "500",
    "RAY_health_check_failure_threshold": "4",
    "RAY_health_check_timeout_ms": "1000",
}
