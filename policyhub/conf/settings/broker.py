"""Celery on Redis: every value here answers a measured failure. The row in the database is the queue; Redis may lose anything."""

from typing import Any

SOFT_LIMIT_S = 300
HARD_LIMIT_S = 330
SWEEP_SOFT_LIMIT_S = 1_500
SWEEP_HARD_LIMIT_S = 1_560
# Below the time a task may run, it is delivered again while it still runs: 20 s task, 8 s timeout, 3 starts (celery#5935).
VISIBILITY_TIMEOUT_S = 2 * SWEEP_HARD_LIMIT_S

QUEUES = ("ingest", "decide", "enforce", "sweep")
ROUTES = {
    "flowguard.ingest_batch": {"queue": "ingest"},
    "flowguard.decide": {"queue": "decide"},
    "flowguard.notice_gaps": {"queue": "ingest"},
    "flowguard.prune": {"queue": "ingest"},
    "policyhub.step_change": {"queue": "enforce"},
    "flowguard.step_enforcement": {"queue": "enforce"},
    "flowguard.step_guard": {"queue": "enforce"},
    "policyhub.sweep": {"queue": "sweep"},
    "policyhub.start_sweep": {"queue": "sweep"},
    "policyhub.collect": {"queue": "sweep"},
    "policyhub.preflight": {"queue": "sweep"},
    "policyhub.collect_all": {"queue": "sweep"},
    "policyhub.poll_counters": {"queue": "sweep"},
    "policyhub.poll_all_counters": {"queue": "sweep"},
}

TRANSPORT_OPTIONS: dict[str, Any] = {
    "visibility_timeout": VISIBILITY_TIMEOUT_S,
    # kombu looks for expired deliveries only each 10 x 10 s by default: a killed worker's task came back after 66 s (kombu#2558).
    "unacked_restore_interval": 10,
    "unacked_restore_throttle": 1,
    # A cable pulled between worker and Redis is noticed by the kernel and by a PING on an idle connection (celery#10205).
    "socket_keepalive": True,
    "health_check_interval": 25,
    # Above brpop_timeout (1 s) + 2 x health_check_interval, or the blocking read is cut while it waits and its delivery is lost
    # (redis-py#2807, #4125). The same defect is why redis-py is pinned below 8.
    "socket_timeout": 60,
    # A web request must not hang when Redis is away: the row is stored, the scheduler dispatches it again.
    "socket_connect_timeout": 2,
    # Deliveries that the client library repeats by itself stay unacknowledged without a sign (redis-py#4125).
    "retry_on_timeout": False,
    "client_name": "policyhub",
}


def celery_settings(broker_url: str) -> dict[str, Any]:
    """The CELERY_ settings for a Redis or Valkey at broker_url (`redis://…`, `rediss://…` or `redis+socket:///path`)."""
    return {
        "CELERY_BROKER_URL": broker_url,
        "CELERY_BROKER_TRANSPORT_OPTIONS": dict(TRANSPORT_OPTIONS),
        "CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP": True,
        "CELERY_BROKER_CONNECTION_MAX_RETRIES": None,  # the default gives up for ever after 100 tries
        # State is in our tables; a result back end leaks connections (celery#6819) and would be a second truth.
        "CELERY_RESULT_BACKEND": None,
        "CELERY_TASK_IGNORE_RESULT": True,
        # Pickle in a broker is remote code execution for whoever reaches it.
        "CELERY_TASK_SERIALIZER": "json",
        "CELERY_ACCEPT_CONTENT": ["json"],
        "CELERY_EVENT_SERIALIZER": "json",
        # A task is acknowledged when it has ended. Twice is harmless (the row decides), never is not.
        "CELERY_TASK_ACKS_LATE": True,
        # Puts the task of a killed child back after about 4 s. It has no limit (celery#9082), so rows count their deliveries.
        "CELERY_TASK_REJECT_ON_WORKER_LOST": True,
        "CELERY_TASK_TRACK_STARTED": False,  # nothing reads it without a result back end
        # More would park a push behind a slow one in a worker that holds both.
        "CELERY_WORKER_PREFETCH_MULTIPLIER": 1,
        "CELERY_TASK_SOFT_TIME_LIMIT": SOFT_LIMIT_S,
        "CELERY_TASK_TIME_LIMIT": HARD_LIMIT_S,
        "CELERY_TASK_ANNOTATIONS": {
            name: {"soft_time_limit": SWEEP_SOFT_LIMIT_S, "time_limit": SWEEP_HARD_LIMIT_S}
            for name, route in ROUTES.items()
            if route["queue"] == "sweep"
        },
        # A push must finish its rollback even when Redis goes away in the middle of it.
        "CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS": False,
        "CELERY_WORKER_MAX_TASKS_PER_CHILD": 500,
        "CELERY_WORKER_HIJACK_ROOT_LOGGER": False,
        "CELERY_WORKER_SEND_TASK_EVENTS": False,
        "CELERY_TASK_DEFAULT_QUEUE": "ingest",
        "CELERY_TASK_CREATE_MISSING_QUEUES": False,  # a typing error in a queue's name is an error, not a queue nobody reads
        "CELERY_TASK_QUEUES": {name: {"exchange": name, "routing_key": name} for name in QUEUES},
        "CELERY_TASK_ROUTES": ROUTES,
        # Publishing: two quick tries, then the scheduler's business.
        "CELERY_TASK_PUBLISH_RETRY_POLICY": {"max_retries": 1, "interval_start": 0, "interval_step": 0.1, "interval_max": 0.1},
        "CELERY_ENABLE_UTC": True,
        "CELERY_TIMEZONE": "UTC",
    }
