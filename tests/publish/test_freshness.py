"""Accepted results must agree with the registries beside them; other inputs may be absent."""

from pathlib import Path

import pytest

from aidc import paths
from aidc.publish import freshness


def test_only_a_changed_registry_makes_accepted_results_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    monkeypatch.setattr(paths, "REGISTRY", tmp_path / "data" / "registry")
    paths.REGISTRY.mkdir(parents=True)
    register = paths.REGISTRY / "variables.yml"
    register.write_text("- a\n")
    record = {
        "files": {
            "data/registry/variables.yml": freshness.file_hash(register),
            "data/cache/trace.csv": "0" * 64,
        }
    }
    assert freshness.stale_registries(record) == []
    register.write_text("- b\n")
    assert freshness.stale_registries(record) == ["input data/registry/variables.yml changed"]
    register.unlink()
    assert freshness.stale_registries(record) == ["input data/registry/variables.yml is gone"]
