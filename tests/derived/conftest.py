"""Cases made by hand, and jobs drawn for scale."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from aidc.constructed.limits import (
    BlockMapping,
    BlockPower,
    Fleet,
    Reserve,
    SiteOverhead,
    SupplyCap,
)
from aidc.constructed.replay import ComponentLoad, SiteLoad, replay, site_load
from aidc.constructed.setting import declared
from aidc.constructed.technology import Technology
from aidc.constructed.window import ReplayWindow
from aidc.derived.case import InitialCharge, StorageCase, storage_case
from aidc.derived.horizon import Horizon
from aidc.evidence import Carrier, Evidence, Layer, Provenance


@dataclass(frozen=True, kw_only=True)
class Jobs(Carrier):
    """Stands for a pool or a trace."""

    jobs: pd.DataFrame


@dataclass(frozen=True, kw_only=True)
class Minutes(Carrier):
    """Stands for the slack of an experiment."""

    minutes: float


DRAWN = Evidence(Layer.OBSERVED, Provenance.SYNTHETIC, frozenset({"seren-standin"}))
LOSSLESS = Technology.of("lossless")


def jobs_of(rows: Sequence[tuple[float, float, float]]) -> Jobs:
    """Return jobs from (release in h, processing in h, GPUs)."""
    release, processing, gpus = np.array(rows, dtype=float).T
    frame = pd.DataFrame(
        {
            "submit_time": pd.Timestamp("2023-03-01") + pd.to_timedelta(release * 3600, unit="s"),
            "duration_s": processing * 3600.0,
            "gpu_num": gpus,
        }
    )
    return Jobs(jobs=frame, evidence=DRAWN)


def load_of(jobs: Jobs, hours: float, step_h: float, fleet_gpus: float | None = None) -> SiteLoad:
    """Replay jobs at 1 kW per GPU, without overhead."""
    window = ReplayWindow.of("2023-03-01", hours / 24, step_h * 60)
    fleet = Fleet.of_blocks(None if fleet_gpus is None else fleet_gpus / 8)
    component = replay(jobs, window, BlockMapping.of(8), BlockPower.of_kw(8.0), fleet)
    return site_load(component, SiteOverhead.of_factor(1.0))


CaseMaker = Callable[..., StorageCase]


@pytest.fixture(scope="session")
def job_case() -> CaseMaker:
    """Make a case from (release h, processing h, GPUs), 1 kW a GPU."""

    def make(
        rows: Sequence[tuple[float, float, float]],
        *,
        hours: float,
        step_h: float = 1.0,
        slack_h: float = 0.0,
        cap: float = 100.0,
        technology: Technology | tuple[Technology, ...] = LOSSLESS,
        initial: str = "full",
        reserve: Reserve | None = None,
        fleet_gpus: float | None = None,
    ) -> StorageCase:
        several = technology if isinstance(technology, tuple) else (technology,)
        return storage_case(
            load_of(jobs_of(rows), hours, step_h, fleet_gpus),
            SupplyCap.of_kw(cap),
            Minutes(minutes=slack_h * 60, evidence=declared("slack_min")),
            several,
            reserve or Reserve.of_minutes(0),
            InitialCharge.of(initial),
        )

    return make


@pytest.fixture(scope="session")
def load_case() -> CaseMaker:
    """Make a case from a load that cannot move, kW in slots of 1 h."""

    def make(
        load: Sequence[float],
        *,
        cap: float | Sequence[float] = 100.0,
        technology: Technology = LOSSLESS,
        initial: str = "full",
        reserve: Reserve | None = None,
        horizon: Horizon | None = None,
    ) -> StorageCase:
        given = horizon or Horizon.of_fixed(np.array(load, dtype=float), 1.0)
        return StorageCase(
            horizon=given,
            cap_kw=np.broadcast_to(np.asarray(cap, dtype=float), given.slots).copy(),
            technologies=(technology,),
            reserve=reserve or Reserve(),
            cyclic=initial == "cyclic",
            evidence=declared("supply_cap_kw"),
        )

    return make


@pytest.fixture(scope="session")
def drawn_jobs() -> Jobs:
    """Jobs with the shape of a training cluster, three days."""
    return draw_jobs(days=3, per_day=300, seed=7)


def draw_jobs(days: int, per_day: int, seed: int) -> Jobs:
    """Draw bursts of mostly short jobs on few GPUs."""
    random = np.random.default_rng(seed)
    weight = random.gamma(0.6, 1.0, days * 24)
    hour = random.choice(days * 24, days * per_day, p=weight / weight.sum())
    release = np.sort(hour + random.random(hour.size))
    processing = np.exp(random.normal(np.log(300), 1.5, hour.size)) / 3600
    gpus = random.choice([1, 2, 4, 8, 16, 32], hour.size, p=[0.54, 0.1, 0.1, 0.2, 0.04, 0.02])
    return jobs_of(list(zip(release, np.clip(processing, 1e-3, 40), gpus, strict=True)))


@pytest.fixture(scope="session")
def minutes() -> Callable[[float], Minutes]:
    """Make the slack of an experiment."""
    return lambda value: Minutes(minutes=value, evidence=declared("slack_min"))


@pytest.fixture(scope="session")
def component(drawn_jobs: Jobs) -> ComponentLoad:
    """Three days of drawn jobs at 15 min."""
    window = ReplayWindow.of("2023-03-01", 3, 15)
    mapping, power = BlockMapping.of(8), BlockPower.of_kw(5.27)
    return replay(drawn_jobs, window, mapping, power, Fleet.of_blocks(None))


@pytest.fixture(scope="session")
def site(component: ComponentLoad) -> SiteLoad:
    """The same at the site."""
    return site_load(component, SiteOverhead.of_factor(1.2))


@pytest.fixture(scope="session")
def fleet_site(drawn_jobs: Jobs) -> Callable[[float], SiteLoad]:
    """The same on a fleet of so many blocks."""

    def make(blocks: float) -> SiteLoad:
        window = ReplayWindow.of("2023-03-01", 3, 15)
        mapping, power = BlockMapping.of(8), BlockPower.of_kw(5.27)
        fleet = Fleet.of_blocks(blocks, 0.836)
        return site_load(
            replay(drawn_jobs, window, mapping, power, fleet), SiteOverhead.of_factor(1.2)
        )

    return make


REAL = Technology.of(
    "real", eta_charge=0.95, eta_discharge=0.94, soc_min=0.1, soc_max=0.9, power_to_energy_per_h=1.0
)


@pytest.fixture(scope="session")
def drawn(site: SiteLoad, minutes: Callable[[float], Minutes]) -> CaseMaker:
    """Make a case from three days of drawn jobs; the cap is a share of the mean."""

    def make(
        slack_min: float = 60.0,
        share: float = 1.3,
        technology: Technology | tuple[Technology, ...] = REAL,
        reserve: Reserve | None = None,
        initial: str = "cyclic",
        load: SiteLoad = site,
    ) -> StorageCase:
        return storage_case(
            load,
            SupplyCap.of_share(share, "mean"),
            minutes(slack_min),
            technology if isinstance(technology, tuple) else (technology,),
            reserve or Reserve.of_minutes(0),
            InitialCharge.of(initial),
        )

    return make
