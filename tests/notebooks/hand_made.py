"""Run a notebook on a hand-made trace, at 1 kW a GPU and without overhead."""

from collections.abc import Sequence
from pathlib import Path

import papermill

from aidc import paths

HEADER = (
    "job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,"
    "duration,queue,gpu_time"
)


def execute(
    notebook: str, folder: Path, jobs: Sequence[tuple[int, int, int]], **parameters: object
) -> Path:
    """Run a notebook on jobs (hour of the day, hours, GPUs); return the folder of its results."""
    rows = []
    for i, (hour, hours, gpus) in enumerate(jobs):
        begin, end = (f"2023-03-01 {hour + late:02d}:00:00+08:00" for late in (0, hours))
        seconds = 3600 * hours
        rows.append(
            f"j{i},u,1,{gpus},1,Eval,COMPLETED,{begin},{begin},{end},{seconds},0,{seconds * gpus}"
        )
    trace, power = folder / "jobs.csv", folder / "power.csv"
    trace.write_text("\n".join([HEADER, *rows, ""]))
    power.write_text("time_s,power_w\n" + "".join(f"{10 * i},8000\n" for i in range(61)))
    papermill.execute_notebook(
        str(paths.NOTEBOOKS / f"{notebook}.ipynb"),
        str(folder / "out.ipynb"),
        parameters={
            "trace": str(trace),
            "power": str(power),
            "start": "2023-03-01",
            "days": 1,
            "site_overhead": 1,
            "gpus_per_block": 8,
            "results_dir": str(folder / "results"),
            **parameters,
        },
        kernel_name="python3",
        progress_bar=False,
        extra_arguments=["--log-level=ERROR"],
    )
    return folder / "results"
