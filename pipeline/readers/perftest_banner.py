"""What perftest prints before a table: the test, its options, and the addresses of both ends.

In a loopback test the banners of both ends lie line by line between each other. What both say
alike is kept; what they say differently belongs to one of them, and nothing tells which.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pipeline.readers.printed_numbers import whole

_TITLE = re.compile(
    r"\b(?P<verb>Send|RDMA_Write|RDMA_Read|Atomic)(?:_?[Ww]ith_?[Ii]mm\w*|_[Ii]mm\w*)?"
    r"(?: (?!BW|Latency|Bidirectional)\w{1,20}){0,3}(?P<both> Bidirectional)?(?: Post List)?"
    r" (?P<kind>BW|Latency)(?: \w{1,12}){0,2} Test\s*$"
)
_TITLE_IN_TEXT = re.compile(
    r"^.{0,200}?\b(?:Send|RDMA_Write|RDMA_Read|Atomic)[ \w]{0,60} (?:BW|Latency)[ \w]{0,30}"
    r" Test[ \t]*\n(?:.{0,300}\n){0,40}?.{0,200}?Dual-port\s+: ",
    re.MULTILINE,
)
_OPTION = re.compile(
    r"(?:^|\s)(Device|Number of qps|Connection type|TX depth|Mtu|Link type)"
    r"\s*: *([^\s:]{1,64})(?=\s|$)"
)
_ADDRESS = re.compile(r"\b(local|remote) address: LID (\w{1,10})\b")
_GID = re.compile(r"\bGID: ([0-9A-Fa-f:.]{2,64})\s*$")
_CUDA = re.compile(r"\bPicking (?:device No\.|GPU number) ?(?P<device>\d{1,4})\s*$", re.ASCII)
_VERBS = {"Send": "send", "RDMA_Write": "write", "RDMA_Read": "read", "Atomic": "atomic"}
_TOOLS = {"BW": "bw", "Latency": "lat"}
_LINK_LAYERS = {"IB": "IB", "InfiniBand": "IB", "Ethernet": "Ethernet"}


@dataclass
class Banner:
    """What was said since a title, by name; each in the order it was said."""

    said: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, value: str) -> None:
        known = self.said.setdefault(name, [])
        if value not in known:
            known.append(value)

    def only(self, name: str) -> str | None:
        """The one value said; None when none was, or several."""
        values = self.said.get(name, [])
        return values[0] if len(values) == 1 else None


@dataclass
class Banners:
    """The banners of one process's output, or of two that print into one."""

    _last: Banner = field(default_factory=Banner)
    _all: Banner = field(default_factory=Banner)
    _title_count: int = 0
    _table_count: int = 0
    _end: str | None = None  # whose address was told last
    _cuda: str | None = None  # of the test that is about to begin
    unfinished: int = 0

    @staticmethod
    def title_in(line: str) -> re.Match[str] | None:
        """The title of a test, if the line is one."""
        return _TITLE.search(line) if " Test" in line else None

    @staticmethod
    def cuda_in(line: str) -> re.Match[str] | None:
        """The choice of a GPU, which comes before the title."""
        return _CUDA.search(line) if "Picking" in line else None

    @staticmethod
    def is_in(text: str) -> bool:
        """Whether a test was begun somewhere in the text."""
        return "Dual-port" in text and _TITLE_IN_TEXT.search(text) is not None

    @property
    def unfinished_count(self) -> int:
        """Tests that were begun and have no table."""
        return self.unfinished + max(0, self._title_count - self._table_count)

    def begin(self, title: re.Match[str]) -> None:
        """A title: of the next test, or of the other end of this one."""
        if self._table_count:
            self.unfinished = self.unfinished_count
            self._all, self._title_count, self._table_count = Banner(), 0, 0
        self._last, self._end = Banner(), None
        self._title_count += 1
        self._add("verb", _VERBS[title["verb"]])
        self._add("kind", _TOOLS[title["kind"]])
        self._add("both", "yes" if title["both"] else "no")
        if self._cuda is not None:
            self._add("cuda", self._cuda)
            self._cuda = None

    def picks(self, cuda_device: str) -> None:
        """The GPU of the test whose title follows."""
        self._cuda = cuda_device

    def table_begins(self) -> None:
        self._table_count += 1

    def line(self, line: str) -> None:
        """Any line after a title."""
        if ":" not in line or not self._title_count:
            return
        for name, value in _OPTION.findall(line):
            self._add(name, value)
        if found := _ADDRESS.search(line):
            self._end = found[1]
            if found[2].removeprefix("0x").strip("0"):
                self._add(found[1], f"LID {found[2]}")
                self._end = None
        elif self._end and (found := _GID.search(line)):
            self._add(self._end, _address_of(found[1]))
            self._end = None

    def _add(self, name: str, value: str) -> None:
        self._last.add(name, value)
        self._all.add(name, value)

    def told(self) -> dict[str, object]:
        """Columns of ``link_benchmark`` that the banner of the open table says."""
        is_two = self._title_count > 1 and self._table_count > 1
        banner = self._all if is_two else self._last
        verb, kind = banner.only("verb"), banner.only("kind")
        both = banner.only("both")
        mtu = (banner.only("Mtu") or "").removesuffix("[B]")
        cuda = banner.only("cuda")
        source, destination = self._ends(banner, verb, both == "yes", is_two)
        return {
            "test": f"ib_{verb}_{kind}" if verb and kind else None,
            "verb": verb,
            "is_bidirectional": None if both is None else both == "yes",
            "source": source,
            "destination": destination,
            "device": banner.only("Device"),
            "link_layer": _LINK_LAYERS.get(banner.only("Link type") or ""),
            "connection_type": banner.only("Connection type"),
            "mtu_bytes": whole(mtu),
            "queue_pair_count": whole(banner.only("Number of qps") or ""),
            "cuda_device_id": None if cuda is None else int(cuda),
        }

    @staticmethod
    def _ends(
        banner: Banner, verb: str | None, is_both: bool, is_two: bool
    ) -> tuple[str | None, str | None]:
        """Where data came from and went to. Only the end that sends requests has a TX depth."""
        local, remote = banner.only("local"), banner.only("remote")
        if is_two and local != remote:
            return None, None
        is_client = "TX depth" in banner.said
        if is_both or is_client == (verb != "read"):
            return local, remote
        return remote, local


def _address_of(gid: str) -> str:
    """An IPv4 address where the GID holds one: bytes in decimal, in hexadecimal since 2025."""
    parts = gid.split(":")
    if len(parts) == 16 and all(part.strip("0") == "" for part in parts[:10]):
        base = 10 if parts[10:12] == ["255", "255"] else 16
        if base == 10 or [part.lower() for part in parts[10:12]] == ["ff", "ff"]:
            try:
                octets = [int(part, base) for part in parts[12:]]
            except ValueError:
                return gid
            if max(octets) < 256:
                return ".".join(map(str, octets))
    return gid.lower().removeprefix("::ffff:") if "." in gid else gid.lower()
