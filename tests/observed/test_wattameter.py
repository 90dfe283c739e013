"""WattAMeter logs: what is read, what is set aside, what is refused."""

import gzip
import lzma
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aidc.evidence import InputError
from aidc.observed.power import Boundary, Domain, PowerKind, PowerOptions
from aidc.observed.power_read import power_dialect, read_power
from aidc.observed.wattameter import parse_wattameter, read_wattameter
from tests.observed import power_factories as make


def test_readings_are_converted_from_the_unit_of_the_header(tmp_path: Path) -> None:
    at = make.times(5)
    profile = read_wattameter(make.nvml(at).write(tmp_path / "a.log"), evidence=None)
    assert [channel.name for channel in profile.channels] == ["gpu-0", "gpu-1"]
    np.testing.assert_allclose(profile.watts[:, 1], make.wave(at, 1), atol=5e-4)
    assert profile.times_s.tolist() == pytest.approx(at.tolist())
    assert profile.boundary is Boundary.COMPONENT
    assert profile.lines.tolist() == [3, 4, 5, 6, 7]
    assert profile.start == make.START


def test_counters_give_watts_across_a_batch_end(tmp_path: Path) -> None:
    path = make.rapl(make.times(10), batch=4).write(tmp_path / "rapl.log")
    profile = read_wattameter(path, evidence=None)
    assert profile.incomplete is not None
    assert np.flatnonzero(profile.incomplete).tolist() == [3, 7, 9]
    assert profile.watts[:-1, 0] == pytest.approx(make.PACKAGE_W[0])
    assert np.isnan(profile.watts[-1]).all()
    assert np.isnan(profile.stated_w["cpu-0"][3])
    assert [c.domain for c in profile.channels] == [Domain.CPU, Domain.CORE] * 2


@pytest.mark.parametrize("ending", ["gz", "xz", "zip"])
def test_compressed_logs_read_the_same(tmp_path: Path, ending: str) -> None:
    text = make.nvml(make.times(20)).text().encode()
    path = tmp_path / f"log.{ending}"
    if ending == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("nvml_wattameter.log", text)
    else:
        path.write_bytes((gzip if ending == "gz" else lzma).compress(text))
    plain = parse_wattameter(Path("x"), text, PowerOptions(), evidence=None)
    np.testing.assert_array_equal(read_power(path).watts, plain.watts)


def test_windows_line_ends_and_other_blanks_read_the_same() -> None:
    text = make.nvml(make.times(20)).text().encode()
    plain = parse_wattameter(Path("x"), text, PowerOptions(), evidence=None)
    for other in (text.replace(b"\n", b"\r\n"), text.replace(b" 45000 ", b"   45000\t"), text[:-1]):
        found = parse_wattameter(Path("x"), other, PowerOptions(), evidence=None)
        np.testing.assert_array_equal(found.watts, plain.watts)
        np.testing.assert_array_equal(found.lines, plain.lines)
        assert len(found.set_aside) == 0


def test_old_and_new_names_give_node_and_job(tmp_path: Path) -> None:
    log = make.nvml(make.times(3))
    old = log.write(
        tmp_path / "nvml_wattameter_emissions_parsed_slurmid_10742795_node_x3100c0s5b0n0.log"
    )
    new = log.write(tmp_path / "nvml_wattameter.log")
    assert (read_power(old).job, read_power(old).node) == ("10742795", "x3100c0s5b0n0")
    assert (read_power(new).job, read_power(new).node) == ("1", "")


def test_rows_that_cannot_be_used_are_set_aside_with_line_and_reason(tmp_path: Path) -> None:
    log = make.nvml(make.times(6))
    log.stamps[1] = "2025-02-30_12:00:00.000000"
    log.rows[3] = [*log.rows[3], "1", "2"]
    log.rows[5] = log.rows[5][:1]
    profile = read_wattameter(log.write(tmp_path / "a.log"), evidence=None)
    assert profile.set_aside["line"].tolist() == [4, 6, 8]
    assert profile.set_aside["reason"].tolist() == [
        "timestamp: not a time",
        "more fields than the header",
        "fewer fields than the header",
    ]
    assert profile.rows == len(profile.times_s) + len(profile.set_aside) == 6


def test_cells_without_a_number_are_missing_and_counted(tmp_path: Path) -> None:
    log = make.nvml(make.times(6))
    log.put([1, 2], "gpu-0[mW]", "N/A")
    log.put([4], "gpu-1[mW]", "nan")
    profile = read_wattameter(log.write(tmp_path / "a.log"), evidence=None)
    assert np.isnan(profile.watts).sum(axis=0).tolist() == [2, 1]
    assert profile.cells == {"N/A": 2, "nan": 1}


def test_comments_and_blank_lines_inside_keep_line_numbers(tmp_path: Path) -> None:
    text = make.nvml(make.times(4)).text().splitlines()
    text[4:4] = ["", "# 2025-03-01_12:00:01.000000 - a remark"]
    path = tmp_path / "a.log"
    path.write_text("\n".join(text))
    assert read_power(path).lines.tolist() == [3, 4, 7, 8]


def test_a_header_given_again_is_no_row_and_another_header_is_refused(tmp_path: Path) -> None:
    one, other = make.nvml(make.times(3)).text(), make.nvml(make.times(3), gpus=3).text()
    path = tmp_path / "a.log"
    path.write_text(one + one)
    assert read_power(path).rows == 6
    path.write_text(one + other)
    with pytest.raises(InputError, match="2 headers with different columns"):
        read_power(path)


def test_the_kind_of_reading_is_never_guessed(tmp_path: Path) -> None:
    path = make.nvml(make.times(3)).write(tmp_path / "a.log")
    assert read_power(path).power_kind is PowerKind.UNKNOWN
    told = read_power(path, PowerOptions(power_kind=PowerKind.AVERAGE_1S))
    assert (told.power_kind, told.power_kind_reason) == (PowerKind.AVERAGE_1S, "as declared")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "# timestamp reading-time[ns] gpu-0[mW]\n",
            "found a header and no row, expected rows such as",
        ),
        ("# timestamp reading-time[ns] gpu-0[C]\n  x 1 2\n", "expected at least one in W"),
        ("# hello\n# there\n", "expected a WattAMeter log"),
    ],
)
def test_files_that_cannot_be_used_are_refused_in_one_line(
    tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "a.log"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as error:
        read_power(path)
    assert "\n" not in str(error.value)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.sampled_from(["whole", "short", "long", "bad time", "text"]), min_size=1, max_size=12
    )
)
def test_rows_always_add_up(kinds: list[str]) -> None:
    log = make.nvml(make.times(len(kinds) + 1))
    for row, kind in enumerate(kinds):
        if kind == "short":
            log.rows[row] = log.rows[row][:-1]
        elif kind == "long":
            log.rows[row] = [*log.rows[row], "7"]
        elif kind == "bad time":
            log.stamps[row] = "yesterday"
        elif kind == "text":
            log.rows[row][0] = "[N/A]"
    profile = parse_wattameter(Path("x.log"), log.text().encode(), PowerOptions(), evidence=None)
    lost = sum(kind in ("short", "long", "bad time") for kind in kinds)
    assert len(profile.set_aside) == lost
    assert profile.rows == len(kinds) + 1 == profile.times_s.size + lost
    assert int(np.isnan(profile.watts[:, 0]).sum()) == kinds.count("text")


@pytest.mark.real_data
def test_real_rapl_watts_are_the_forward_difference_of_the_counters(real_data: Path) -> None:
    path = real_data / "power" / "1_wattameter_example" / "rapl_wattameter.log"
    profile = read_power(path)
    rows = [line.split() for line in path.read_text().splitlines() if not line.startswith("#")]
    clock = [np.datetime64(row[0].replace("_", "T")) for row in rows]
    seconds = np.diff(np.array(clock)) / np.timedelta64(1, "s")
    for i, column in enumerate(range(2, 6)):
        joules = np.diff(np.array([int(row[column]) for row in rows])) / 1e6
        np.testing.assert_allclose(profile.watts[:-1, i], joules / seconds, atol=1e-3, rtol=0)
    assert profile.rows == 140
    assert power_dialect(path) == "wattameter"
