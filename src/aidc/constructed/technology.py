"""Storage technologies and cost weights: pre-frozen scan values, not facts about products."""

from __future__ import annotations

from dataclasses import dataclass

from aidc.constructed.setting import declared, number
from aidc.evidence import Carrier, InputError

TECHNOLOGY_SETTINGS = (
    "eta_charge",
    "eta_discharge",
    "soc_min",
    "soc_max",
    "power_to_energy_per_h",
)


@dataclass(frozen=True, kw_only=True)
class Technology(Carrier):
    """What a storage technology can do in an experiment.

    Attributes
    ----------
    name : str
        For tables and messages.
    eta_charge, eta_discharge : float
        Efficiencies, above 0 and at most 1.
    soc_min, soc_max : float
        Window of the state of charge as shares of nominal energy.
    power_to_energy_per_h : float or None
        Most power per nominal energy, 1/h; None is no limit.
    """

    name: str = "storage"
    eta_charge: float = 1.0
    eta_discharge: float = 1.0
    soc_min: float = 0.0
    soc_max: float = 1.0
    power_to_energy_per_h: float | None = None

    def __post_init__(self) -> None:
        number("eta_charge", self.eta_charge, "-", above=True, most=1.0)
        number("eta_discharge", self.eta_discharge, "-", above=True, most=1.0)
        number("soc_min", self.soc_min, "share of nominal energy", most=1.0)
        number("soc_max", self.soc_max, "share of nominal energy", most=1.0)
        if self.soc_min >= self.soc_max:
            raise InputError(
                f"soc_min: found {self.soc_min:g} with soc_max {self.soc_max:g}, "
                "expected soc_min below soc_max"
            )
        if self.power_to_energy_per_h is not None:
            number("power_to_energy_per_h", self.power_to_energy_per_h, "1/h", above=True)

    @classmethod
    def of(
        cls,
        name: str = "storage",
        *,
        eta_charge: float = 1.0,
        eta_discharge: float = 1.0,
        soc_min: float = 0.0,
        soc_max: float = 1.0,
        power_to_energy_per_h: float | None = None,
    ) -> Technology:
        """Return the experimental settings of a technology.

        Raises
        ------
        InputError
            Naming the setting that is out of range.
        """
        return cls(
            name=name,
            eta_charge=eta_charge,
            eta_discharge=eta_discharge,
            soc_min=soc_min,
            soc_max=soc_max,
            power_to_energy_per_h=power_to_energy_per_h,
            evidence=declared(*TECHNOLOGY_SETTINGS),
        )

    @property
    def usable_share(self) -> float:
        """Energy that a full discharge delivers at the terminals per nominal energy."""
        return (self.soc_max - self.soc_min) * self.eta_discharge


@dataclass(frozen=True, kw_only=True)
class CostWeights(Carrier):
    """What 1 kW and 1 kWh of storage weigh against each other.

    Power and energy are never added without them. They are relative: only their ratio
    matters to a size.

    Attributes
    ----------
    power : float
        Weight of 1 kW.
    energy : float
        Weight of 1 kWh (nominal).
    """

    power: float = 1.0
    energy: float = 1.0

    def __post_init__(self) -> None:
        number("weight_power", self.power, "per kW")
        number("weight_energy", self.energy, "per kWh")
        if self.power == 0 and self.energy == 0:
            raise InputError("weight_power, weight_energy: found 0 and 0, expected one above 0")

    @classmethod
    def of(cls, power: float = 1.0, energy: float = 1.0) -> CostWeights:
        """Return the experimental settings ``weight_power`` and ``weight_energy``."""
        return cls(power=power, energy=energy, evidence=declared("weight_power", "weight_energy"))

    def of_energy_scaled(self, factor: float) -> CostWeights:
        """Return the weights with 1 kWh ``factor`` times as dear."""
        return CostWeights(power=self.power, energy=self.energy * factor, evidence=self.evidence)
