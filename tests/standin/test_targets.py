"""The published tables agree with each other before anything is fitted to them."""

import pandas as pd

from aidc.standin import targets
from aidc.standin.targets import FOUR_TYPES, GPU_TYPES, curve, size, target


def test_types_add_up_to_the_published_totals() -> None:
    gpu = sum(size(kind) for kind in GPU_TYPES)
    assert gpu == size("ALL_GPU")
    assert gpu + size("CPU") == target("rows.total")


def test_type_curves_sum_to_the_curve_of_all_gpu_jobs() -> None:
    for threshold, jobs in curve("ALL_GPU", "duration").items():
        assert sum(curve(kind, "duration")[threshold] for kind in GPU_TYPES) == jobs


def test_curves_never_fall() -> None:
    for _, part in targets.cumulative().groupby(["population", "field"]):
        assert part["le"].is_monotonic_increasing
        assert part["jobs"].is_monotonic_increasing
        assert part["jobs"].iloc[-1] <= part["n_jobs"].iloc[0]


def test_funnel_counts_are_consistent() -> None:
    assert target("pool.jobs") + target("pool.zero_duration") == target("rows.completed_gpu")
    both = target("rows.completed_gpu") + target("rows.completed_cpu")
    assert both == target("rows.completed")


def test_daily_mean_belongs_to_the_jobs_of_positive_duration() -> None:
    mean = target("four.jobs") / target("four.per_day.active_days")
    assert round(mean) == target("four.per_day.mean")


def test_every_target_names_a_source_of_the_readme() -> None:
    readme = targets.TARGETS.with_name("README.md").read_text(encoding="utf-8")
    for key, entry in targets.targets().items():
        assert f"| `{entry.source}` |" in readme, key
        assert entry.kind in ("exact", "approximate"), key


def test_the_committed_cells_hold_every_run_time_target() -> None:
    cells = pd.read_csv(targets.CELLS)
    jobs = cells["completed"] + cells["other"]
    four = cells["type"].isin(FOUR_TYPES)
    assert (cells[["completed", "other"]] >= 0).all(axis=None)
    assert jobs.sum() == target("rows.total")
    assert cells.loc[four & (cells["lower"] >= 0), "completed"].sum() == target("four.jobs")
