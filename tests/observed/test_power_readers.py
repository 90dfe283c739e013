"""The other formats of power logs, and the NLR archive."""

from __future__ import annotations

import io
import json
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from aidc.evidence import InputError
from aidc.observed.nlr import NlrArchive, RangeFile
from aidc.observed.power import Boundary, PowerKind, PowerOptions
from aidc.observed.power_read import READERS, power_dialect, read_power
from tests.observed import power_factories as make


def mlperf_line(key: str, time_ms: float, value: object = "null") -> str:
    event = {"namespace": "", "time_ms": time_ms, "event_type": "X", "key": key, "value": value}
    return ":::MLLOG " + json.dumps(event)


def write_mlperf(path: Path, times_ms: list[int], watts: list[object], stop: int) -> Path:
    lines = [mlperf_line("power_measurement_start", times_ms[0] - 1000)]
    pairs = zip(times_ms, watts, strict=True)
    lines += [mlperf_line("power_reading", t, w) for t, w in pairs]
    lines += [mlperf_line("power_measurement_stop", stop), ""]
    path.write_text("\n".join(lines))
    return path


def test_mlperf_boundary_comes_from_the_name_or_the_option(tmp_path: Path) -> None:
    stamp = 1_715_257_320_000
    for name, boundary in (
        ("ac_result_node_0.txt", Boundary.NODE_AC),
        ("dc_result_node_0.txt", Boundary.NODE_DC),
        ("result.txt", Boundary.UNSTATED),
    ):
        path = write_mlperf(tmp_path / name, [stamp, stamp + 2000], [100, 300], stamp)
        assert read_power(path).boundary is boundary
    assert read_power(path, PowerOptions(boundary=Boundary.SITE)).boundary is Boundary.SITE


def test_mlperf_lines_without_a_number_are_set_aside(tmp_path: Path) -> None:
    path = write_mlperf(tmp_path / "ac_x.txt", [1000, 2000, 3000], [5, "N/A", 7], 4000)
    path.write_text(path.read_text() + "garbage\n:::MLLOG {no json\n")
    profile = read_power(path)
    assert profile.watts[:, 0].tolist() == [5, 7]
    assert profile.markers == {"start": -1.0, "stop": 3.0}
    assert profile.set_aside["line"].tolist() == [3, 6, 7]
    assert profile.rows == 5


def test_two_columns_with_units_in_the_header(tmp_path: Path) -> None:
    for header, cells, times, watts in (
        ("time_s,power_w", ["0,1", "2,3"], [0, 2], [1, 3]),
        ("timestep[s],power[kW]", ["0,1", "0.5,3"], [0, 0.5], [1000, 3000]),
        ("time [ms],power (mW)", ["0,1000", "500,3000"], [0, 0.5], [1, 3]),
        (
            "when,power_kw",
            ["2025-01-01T00:00:00Z,1", "2025-01-01T00:01:00Z,2"],
            [0, 60],
            [1e3, 2e3],
        ),
    ):
        path = tmp_path / "p.csv"
        path.write_text("\n".join([header, *cells]) + "\n")
        profile = read_power(path)
        assert profile.times_s.tolist() == pytest.approx(times)
        assert profile.watts[:, 0].tolist() == pytest.approx(watts)
        assert profile.boundary is Boundary.UNSTATED


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("time_s,power", "expected a unit of power"),
        ("time_s,power_mw", "ambiguous unit"),
        ("time_s,dP_pu", "base_w and per_unit_factor"),
        ("time,power_w", "expected a unit of time"),
    ],
)
def test_a_unit_is_never_guessed(tmp_path: Path, header: str, message: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"{header}\n0,1\n1,2\n")
    with pytest.raises(InputError, match=message):
        read_power(path)


def test_per_unit_needs_both_its_parameters(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("time,dP_pu\n0,0\n1,-0.05\n2,0.01\n")
    told = PowerOptions(base_w=1000.0, per_unit_factor=20.0, time_unit="s")
    assert read_power(path, told).watts[:, 0].tolist() == pytest.approx([1000, 0, 1200])


def test_two_column_rows_add_up(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("time_s,power_w\n0,1\n1,x\n2\n,4\n5,6\n\n")
    profile = read_power(path)
    assert profile.set_aside["line"].tolist() == [4, 5]
    assert np.isnan(profile.watts[:, 0]).tolist() == [False, True, False]
    assert profile.cells == {"x": 1}
    assert profile.rows == 5


def smi(path: Path, header: str, cell: str) -> Path:
    lines = [header]
    for second in range(4):
        lines += [
            f"2025/01/31 12:00:0{second}.{10 + gpu:03d}, {gpu}, {cell.format(100 + gpu)}"
            for gpu in range(3)
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize(
    ("header", "cell", "kind"),
    [
        ("timestamp, index, power.draw [W]", "{} W", PowerKind.UNKNOWN),
        ("timestamp, index, power.draw.instant [W]", "{}", PowerKind.INSTANT),
        ("timestamp, index, power.draw.average [W]", "{}.00 W", PowerKind.AVERAGE_1S),
    ],
)
def test_nvidia_smi_units_in_cells_or_header(
    tmp_path: Path, header: str, cell: str, kind: PowerKind
) -> None:
    profile = read_power(smi(tmp_path / "smi.csv", header, cell))
    assert profile.dialect == "nvidia-smi"
    assert profile.power_kind is kind
    assert [c.name for c in profile.channels] == ["gpu-0", "gpu-1", "gpu-2"]
    np.testing.assert_allclose(profile.watts, np.tile([100.0, 101, 102], (4, 1)))
    assert profile.times_s.tolist() == pytest.approx([0, 1, 2, 3])


def test_nvidia_smi_words_are_missing_values(tmp_path: Path) -> None:
    path = smi(tmp_path / "smi.csv", "timestamp, index, power.draw [W]", "{} W")
    path.write_text(path.read_text().replace("101 W", "[Not Supported]"))
    profile = read_power(path)
    assert np.isnan(profile.watts).all(axis=0).tolist() == [False, True, False]
    assert profile.cells == {"[Not Supported]": 4}


def test_nvidia_smi_without_any_unit_is_refused(tmp_path: Path) -> None:
    path = smi(tmp_path / "smi.csv", "timestamp, index, power.draw", "{}")
    with pytest.raises(InputError, match="without a unit of power"):
        read_power(path)
    assert read_power(path, PowerOptions(power_unit="mW")).watts[0, 0] == pytest.approx(0.1)


def parquet_bytes(watts: list[float]) -> bytes:
    frame = pd.DataFrame({"power[W]": watts}, index=pd.Index(0.2 * np.arange(len(watts))))
    frame.index.name = "timestep[s]"
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "dataset.zip"
    raw = "set/00_raw_datasets/training_x/2node/"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("set/filler.bin", np.random.default_rng(0).bytes(4 << 20))
        made.writestr("set/01_aggregated_datasets/training/metadata.csv", ",model\n0,x\n")
        made.writestr(
            "set/01_aggregated_datasets/training/results/000000.parquet", parquet_bytes([1, 2, 4])
        )
        made.writestr("set/03_whole-facility_profiles/a.parquet", parquet_bytes([1]))
        for node in ("n1", "n2"):
            for kind, log in (("nvml", make.nvml), ("rapl", make.rapl)):
                name = f"{kind}_wattameter_emissions_parsed_slurmid_7_node_{node}.log"
                made.writestr(raw + name, log(make.times(9)).text())
    return path


@pytest.fixture
def server(archive: Path) -> Iterator[str]:
    data = archive.read_bytes()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            if self.path != "/dataset.zip" or wanted is None:
                self.send_response(200 if self.path == "/whole.zip" else 404)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            first, last = (int(part) for part in wanted.removeprefix("bytes=").split("-"))
            part = data[first : last + 1]
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            self.end_headers()
            self.wfile.write(part)

        def log_message(self, *_: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{running.server_port}"
    running.shutdown()
    running.server_close()


def test_members_are_read_by_name(archive: Path) -> None:
    with NlrArchive(archive) as found:
        curve = found.curve("training/results/000000.parquet", evidence=None)
        assert curve.watts[:, 0].tolist() == [1, 2, 4]
        assert curve.times_s.tolist() == pytest.approx([0, 0.2, 0.4])
        logs = found.raw_logs(7, evidence=None)
        assert found.metadata()["model"].tolist() == ["x"]
    assert sorted((log.node, log.channels[0].name, log.job) for log in logs) == [
        ("n1", "cpu-0", "7"),
        ("n1", "gpu-0", "7"),
        ("n2", "cpu-0", "7"),
        ("n2", "gpu-0", "7"),
    ]


def test_range_requests_fetch_a_part_of_the_archive(archive: Path, server: str) -> None:
    url = f"{server}/dataset.zip"
    with NlrArchive(url) as found:
        curve = found.curve("training/results/000000.parquet", evidence=None)
    assert curve.watts[:, 0].tolist() == [1, 2, 4]
    file = RangeFile(url)
    with zipfile.ZipFile(io.BufferedReader(file, 1 << 16)) as opened:
        opened.read("set/01_aggregated_datasets/training/metadata.csv")
    assert file.received < archive.stat().st_size / 10


def test_archives_that_cannot_be_used_are_refused(
    archive: Path, server: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        NlrArchive(f"{server}/nothing.zip")
    with pytest.raises(InputError, match="found status 200 to a range request"):
        NlrArchive(f"{server}/whole.zip")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(archive.read_bytes()[:-100])
    with pytest.raises(InputError, match="cannot be read as a zip"):
        NlrArchive(broken)
    with NlrArchive(archive) as found:
        with pytest.raises(InputError, match="found 0 members"):
            found.read("training/results/9.parquet")
        with pytest.raises(InputError, match="simulated"):
            found.curve("03_whole-facility_profiles/a.parquet", evidence=None)
        with pytest.raises(InputError, match="no raw log of job 8"):
            found.raw_logs(8, evidence=None)


def test_formats_are_told_by_content(tmp_path: Path) -> None:
    parquet = tmp_path / "x.parquet"
    parquet.write_bytes(parquet_bytes([1, 2]))
    assert power_dialect(parquet) == "nlr-parquet"
    assert power_dialect(make.nvml(make.times(3)).write(tmp_path / "a.csv")) == "wattameter"
    other = tmp_path / "x.txt"
    other.write_text("a;b;c\n1;2;3\n")
    with pytest.raises(InputError, match="expected a WattAMeter log"):
        read_power(other)
    with pytest.raises(InputError, match="found 'x'"):
        read_power(other, dialect="x")
    assert "two-column" in READERS


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02,", b"time_s,power_w\n"])
def test_empty_and_binary_files_are_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_power(path)
    assert "\n" not in str(error.value)


@pytest.mark.real_data
def test_real_mlperf_logs(real_data: Path) -> None:
    folder = real_data / "power" / "2_mlperf_v4.0_smc_llama2lora_8xH100"
    found = {path.name[:2]: read_power(path) for path in folder.glob("*_1_node_0.txt")}
    assert found["ac"].boundary is Boundary.NODE_AC
    assert found["dc"].boundary is Boundary.NODE_DC
    assert found["dc"].rows == 847
    assert found["dc"].watts.mean() == pytest.approx(6782.3, abs=0.05)
    assert found["ac"].watts.mean() == pytest.approx(6970.7, abs=0.05)


@pytest.mark.real_data
def test_real_per_unit_profile(real_data: Path) -> None:
    path = real_data / "power" / "nlr_llama2lora_16node_gpu" / "pscad_load_profile.csv"
    told = PowerOptions(base_w=34127.56, per_unit_factor=20, time_unit="s")
    watts = read_power(path, told).watts
    assert watts.min() == pytest.approx(4705, abs=0.5)
    assert watts.max() == pytest.approx(44037, abs=0.5)
