"""Which public data may enter a task-storage co-scheduling study, and as what."""

__version__ = "0.1.0"
