"""The NLR archive of power profiles: parquet curves and raw logs, members read by name.

The archive is one zip of a gigabyte. Members are read where they lie, from a local file
or over HTTP by range requests; nothing is unpacked.
"""

from __future__ import annotations

import io
import re
import urllib.error
import urllib.request
import zipfile
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import IO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from aidc import paths
from aidc.evidence import Evidence, InputError
from aidc.observed.power import (
    MAX_TEXT_BYTES,
    Boundary,
    Channel,
    Domain,
    PowerKind,
    PowerOptions,
    PowerProfile,
    set_aside_frame,
)
from aidc.observed.textfile import checked_path
from aidc.observed.wattameter import parse_wattameter

DIALECT = "nlr-parquet"
TIME, POWER = "timestep[s]", "power[W]"
# What the data set calls measured; its whole-facility profiles are simulated.
AGGREGATED, RAW, SIMULATED = "01_aggregated_datasets", "00_raw_datasets", "03_whole-facility"
_RAW_LOG = re.compile(r"(?:nvml|rapl)_wattameter.*slurmid_(\d+)_node_([^/]+)\.log$")
_TIMEOUT_S = 60
_RANGE_BYTES = 1 << 20


def read_parquet(
    path: str | Path, options: PowerOptions | None = None, *, evidence: Evidence | None
) -> PowerProfile:
    """Read one aggregated curve: columns ``timestep[s]`` and ``power[W]``.

    Raises
    ------
    InputError
        If the file as a whole cannot be used.
    """
    file = checked_path(path)
    return parse_parquet(file, file.read_bytes(), options or PowerOptions(), evidence=evidence)


def parse_parquet(
    file: Path, data: bytes, options: PowerOptions, *, evidence: Evidence | None
) -> PowerProfile:
    """Return the profile of a parquet whose content is at hand."""
    where = paths.display(file)
    try:
        table = pq.read_table(pa.BufferReader(data))
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(
            f"{where}: cannot be read as parquet ({str(error)[:120]}); fetch it again"
        ) from error
    if not {TIME, POWER} <= set(table.column_names):
        raise InputError(
            f"{where}: found columns {', '.join(table.column_names)[:200]}, expected {TIME} and "
            f"{POWER}"
        )
    times = table[TIME].to_numpy().astype(np.float64)
    watts = table[POWER].to_numpy().astype(np.float64)
    sound = np.isfinite(times)
    if not sound.any():
        raise InputError(f"{where}: found no row with a time, expected one a sample")
    row_numbers = np.arange(1, times.size + 1, dtype=np.int32)
    faults = [(int(row), "time: missing", str(watts[row - 1])) for row in row_numbers[~sound]]
    return PowerProfile(
        times_s=times[sound] - times[sound][0],
        start=None,
        watts=watts[sound][:, None],
        channels=(Channel("components", Domain.TOTAL, "W"),),
        lines=row_numbers[sound],
        set_aside=set_aside_frame(faults),
        rows=times.size,
        boundary=options.boundary or Boundary.COMPONENT,
        power_kind=options.power_kind or PowerKind.UNKNOWN,
        power_kind_reason="as declared" if options.power_kind else "the file does not say",
        dialect=DIALECT,
        path=file,
        node=options.node or "",
        interval_s=options.interval_s,
        notes=("already aggregated by its publisher: no device, no batch end is visible any more",),
        evidence=evidence,
    )


class NlrArchive:
    """The zip of the data set, local or behind a URL.

    Use as a context manager.

    Parameters
    ----------
    source : str or Path
        A local zip, or an ``https://`` or ``http://`` address of one whose server answers
        range requests.

    Raises
    ------
    InputError
        If the archive cannot be opened, or a member is not there.
    """

    def __init__(self, source: str | Path) -> None:
        text = str(source)
        self._stream: IO[bytes]
        if re.match(r"https?://", text):
            self.where = text
            self._stream = io.BufferedReader(RangeFile(text), _RANGE_BYTES)
        else:
            file = checked_path(source)
            self.where = paths.display(file)
            self._stream = file.open("rb")
        try:
            self._zip = zipfile.ZipFile(self._stream)
        except zipfile.BadZipFile as error:
            self._stream.close()
            raise InputError(
                f"{self.where}: cannot be read as a zip ({error}); fetch it again"
            ) from error

    def __enter__(self) -> NlrArchive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the archive."""
        self._zip.close()
        self._stream.close()

    def names(self) -> list[str]:
        """Return the members, in the order of the archive."""
        return [name for name in self._zip.namelist() if not name.endswith("/")]

    def read(self, name: str) -> bytes:
        """Return the content of one member, named in full or by the end of its path."""
        found = [n for n in self.names() if n == name or n.endswith("/" + name)]
        if len(found) != 1:
            raise InputError(
                f"{self.where}: found {len(found)} members named {name!r}, expected one; "
                "see names()"
            )
        info = self._zip.getinfo(found[0])
        if info.file_size > MAX_TEXT_BYTES:
            raise InputError(
                f"{self.where}, member {found[0]}: found {info.file_size} bytes, expected at most "
                f"{MAX_TEXT_BYTES}"
            )
        try:
            return self._zip.read(info)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
            raise InputError(
                f"{self.where}, member {found[0]}: cannot be read ({error}); fetch it again"
            ) from error

    def metadata(self, folder: str = "training") -> pd.DataFrame:
        """Return the table of a folder's runs, as published."""
        return pd.read_csv(io.BytesIO(self.read(f"{AGGREGATED}/{folder}/metadata.csv")))

    def curve(
        self, name: str, options: PowerOptions | None = None, *, evidence: Evidence | None
    ) -> PowerProfile:
        """Return one aggregated curve, e.g. ``training/results/000000.parquet``.

        Raises
        ------
        InputError
            Also for a curve that the data set's authors simulated.
        """
        if SIMULATED in name:
            raise InputError(
                f"{self.where}, member {name}: found a simulated whole-facility profile, expected "
                "a measured one; it may not enter the observed layer"
            )
        data = self.read(name)
        return parse_parquet(Path(name), data, options or PowerOptions(), evidence=evidence)

    def raw_logs(
        self, job: str | int, options: PowerOptions | None = None, *, evidence: Evidence | None
    ) -> list[PowerProfile]:
        """Return the raw logs of one job: every node, NVML and RAPL."""
        chosen = options or PowerOptions()
        members = self.raw_members(job)
        if not members:
            raise InputError(
                f"{self.where}: found no raw log of job {job}, expected its number as in the "
                "column slurmid of metadata()"
            )
        return [
            parse_wattameter(Path(name), self.read(name), chosen, evidence=evidence)
            for name in members
        ]

    def raw_members(self, job: str | int) -> Sequence[str]:
        """Return the names of one job's raw logs, sorted."""
        matches = ((name, _RAW_LOG.search(PurePosixPath(name).name)) for name in self.names())
        return sorted(name for name, match in matches if match and match.group(1) == str(job))


class RangeFile(io.RawIOBase):
    """A file behind a URL, read by range requests.

    Parameters
    ----------
    url : str
        An ``http://`` or ``https://`` address.

    Attributes
    ----------
    requests : int
        Requests made so far.
    received : int
        Bytes received so far.

    Raises
    ------
    InputError
        If the server cannot be reached, or does not answer range requests.
    """

    def __init__(self, url: str) -> None:
        if not re.match(r"https?://", url):
            raise InputError(f"{url}: found no http address, expected http:// or https://")
        self._url = url
        self._position = 0
        self.requests = 0
        self.received = 0
        self._size = self._find_size()

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def seekable(self) -> bool:
        """Whether it can be searched: yes."""
        return True

    def tell(self) -> int:
        """Return the position in bytes."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Return up to ``size`` bytes; b"" at the end."""
        end = self._size if size < 0 else min(self._size, self._position + size)
        if end <= self._position:
            return b""
        data, _ = self._request(self._position, end - 1)
        self._position += len(data)
        return data

    def readinto(self, buffer: object) -> int:
        """Fill a buffer and return how many bytes were read."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def _find_size(self) -> int:
        _, content_range = self._request(0, 0)
        size = content_range.rpartition("/")[2]
        if not size.isdigit():
            raise InputError(
                f"{self._url}: found no size in the answer to a range request, expected one; "
                "download the file and give its path"
            )
        return int(size)

    def _request(self, first: int, last: int) -> tuple[bytes, str]:
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked
            self._url, headers={"Range": f"bytes={first}-{last}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:  # noqa: S310
                if answer.status != 206:
                    raise InputError(
                        f"{self._url}: found status {answer.status} to a range request, expected "
                        "206; download the file and give its path"
                    )
                data = bytes(answer.read(last - first + 1))
                content_range = str(answer.headers.get("Content-Range", ""))
        except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
            raise InputError(
                f"{self._url}: cannot be read ({getattr(error, 'reason', error)}); "
                "check the address and the network"
            ) from error
        if len(data) != last - first + 1:
            raise InputError(
                f"{self._url}: found {len(data)} of {last - first + 1} bytes in an answer"
            )
        self.requests += 1
        self.received += len(data)
        return data, content_range
