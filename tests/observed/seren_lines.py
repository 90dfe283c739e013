"""Rows of text in the Seren dialect, for tests of loading and auditing."""

SEREN_ROW = {
    "job_id": "17",
    "user": "u5907",
    "node_num": "1",
    "gpu_num": "8",
    "cpu_num": "128",
    "type": "Other",
    "state": "FAILED",
    "submit_time": "2023-03-01 00:18:22+08:00",
    "start_time": "2023-03-01 00:18:54+08:00",
    "end_time": "2023-03-01 00:20:51+08:00",
    "duration": "117",
    "queue": "32",
    "gpu_time": "936.0",
}
HEADER = ",".join(SEREN_ROW)


def row(**changes: str) -> str:
    """Return a sound row with some cells changed."""
    return ",".join((SEREN_ROW | changes).values())


def sound_rows(count: int) -> list[str]:
    """Return sound rows, each with an id of its own."""
    return [row(job_id=str(17 + number)) for number in range(count)]
