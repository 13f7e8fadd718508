"""The walk: which files there are, what they begin with, and which run each belongs to."""

import bz2
import gzip
import io
import lzma
import os
import random
import socket
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.archive import (
    STORE_MARKER,
    DamagedData,
    Found,
    label,
    plain_file,
    plain_head,
    plain_name,
    total_bytes,
    walk,
)
from pipeline.errors import UserError

TRACE = b"trace " + random.Random(1).randbytes(300_000)
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: bytes(pa.compress(data, "zstd", asbytes=True)),
    ".bz2": bz2.compress,
}


def is_trace(head: bytes, name: str, file: Path) -> bool:
    return head.startswith(b"trace") or name.endswith(".trace")


def tree(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder


def tar(files: dict[str, bytes], pack: Callable[[bytes], bytes] = bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return pack(buffer.getvalue())


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def found(path: Path, run: str | None = None) -> list[tuple[str, str]]:
    return [(file.run_id, file.name) for file in walk(path, is_trace, run)]


def contents(path: Path, work: Path) -> list[tuple[str, str, bytes]]:
    """Run, name and uncompressed content; members are fetched as the walk goes."""

    def content(file: Found) -> bytes:
        with plain_file(file.fetch(work), work) as plain:
            return plain.read_bytes()

    return [(file.run_id, file.name, content(file)) for file in walk(path, is_trace, None)]


# -- runs ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "runs"),
    [
        (["a/0.trace", "b/0.trace"], {"a/0.trace": "a", "b/0.trace": "b"}),
        (["0.trace", "sub/1.trace"], {"0.trace": "jobs", "sub/1.trace": "jobs"}),
        (["a/deep/er/0.trace"], {"a/deep/er/0.trace": "a"}),
        (["README", "a/0.trace"], {"README": "jobs", "a/0.trace": "a"}),
        (["2024-01-01/0.trace", "007/0.trace"], {"007/0.trace": "007"}),
        (["a=b/0.trace", "x y'\"\n/0.trace"], {"a=b/0.trace": "a=b"}),
    ],
)
def test_a_run_is_a_folder(tmp_path: Path, files: list[str], runs: dict[str, str]) -> None:
    jobs = tree(tmp_path / "jobs", dict.fromkeys(files, b"x"))
    by_file = {f.shown: f.run_id for f in walk(jobs, is_trace, None)}
    assert len(by_file) == len(files)
    for file, run in runs.items():
        assert by_file[str(jobs / file)] == run


def test_names_are_below_the_run(tmp_path: Path) -> None:
    jobs = tree(tmp_path / "jobs", {"a/node/0.trace": b"x", "b/1.trace": b"x"})
    assert found(jobs) == [("a", "node/0.trace"), ("b", "1.trace")]
    assert found(jobs / "b") == [("b", "1.trace")]
    assert found(jobs / "b" / "1.trace") == [("b", "1.trace")]
    assert found(jobs / "b" / ".." / "b") == [("b", "1.trace")]
    assert found(jobs, "all") == [
        ("all", "jobs/a/node/0.trace"),
        ("all", "jobs/b/1.trace"),
    ]


@pytest.mark.parametrize("suffix", [".tar", ".zip"])
def test_runs_of_an_archive(tmp_path: Path, suffix: str) -> None:
    make = zipped if suffix == ".zip" else tar
    two = {"./a/0.trace": b"x", "b/n/1.trace": b"x"}
    flat = {"0.trace": b"x"}
    jobs = tree(
        tmp_path / "jobs",
        {f"flat{suffix}": make(flat), f"two{suffix}": make(two), f"run/in{suffix}": make(two)},
    )
    assert sorted(found(jobs)) == [
        ("flat", f"flat{suffix}!0.trace"),
        ("run", f"in{suffix}!a/0.trace"),
        ("run", f"in{suffix}!b/n/1.trace"),
        ("two", f"two{suffix}!a/0.trace"),
        ("two", f"two{suffix}!b/n/1.trace"),
    ]
    assert found(jobs / f"two{suffix}") == [
        ("a", f"two{suffix}!0.trace"),
        ("b", f"two{suffix}!n/1.trace"),
    ]
    assert {run for run, _ in found(jobs, "all")} == {"all"}
    assert found(jobs / f"flat{suffix}") == [("flat", f"flat{suffix}!0.trace")]


def test_an_archive_without_a_stem_names_its_run(tmp_path: Path) -> None:
    [(run, _)] = found(tree(tmp_path, {".tar": tar({"0.trace": b"x"})}) / ".tar")
    assert run in ("", ".tar", tmp_path.name)


# -- what is met -----------------------------------------------------------------------------


def test_only_files_are_met(tmp_path: Path) -> None:
    jobs = tree(tmp_path / "jobs", {"a/0.trace": b"x", "a/dir.trace/inner": b"x"})
    os.mkfifo(jobs / "a" / "pipe.trace")
    (jobs / "a" / "dangling.trace").symlink_to("nowhere")
    (jobs / "a" / "round").symlink_to(jobs)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(jobs / "a" / "s.trace"))
        assert found(jobs) == [("a", "0.trace"), ("a", "dir.trace/inner")]


@pytest.mark.parametrize("kind", ["missing", "pipe", "dangling", "round"])
def test_what_cannot_be_opened_is_said_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.trace"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind != "missing":
        path.symlink_to("nowhere" if kind == "dangling" else path)
    with pytest.raises(UserError, match=r"x\.trace: (no such|neither)"):
        found(path)


def test_a_name_too_long_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        found(tmp_path / ("x" * 300))


def test_a_store_is_not_input(tmp_path: Path) -> None:
    jobs = tree(
        tmp_path / "jobs",
        {"a/0.trace": b"x", f"store/{STORE_MARKER}": b"{}", "store/run_id=b/1.trace": b"x"},
    )
    assert found(jobs) == [("a", "0.trace")]
    assert found(jobs / "store") == []


def test_names_that_are_no_utf8(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/r\xff"
    os.mkdir(folder)
    with open(folder + b"/\xe9.trace", "wb") as file:
        file.write(b"x")
    [(run, name)] = found(tmp_path)
    assert (run, name) == ("r�", "�.trace")
    assert label("grün") == "grün"


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("a/rank0.sqlite", "rank0.sqlite"),
        ("a/rank0.sqlite.XZ", "rank0.sqlite"),
        ("a.tar.gz!b/c.trace.zst", "c.trace"),
        ("gz", "gz"),
    ],
)
def test_plain_name(name: str, plain: str) -> None:
    assert plain_name(name) == plain


def test_bytes_of_all(tmp_path: Path) -> None:
    jobs = tree(tmp_path / "jobs", {"a/0": b"123", "1": b"4"})
    assert (total_bytes(jobs), total_bytes(jobs / "1")) == (4, 1)


# -- compression -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "content"),
    [(suffix, content) for suffix in PACK for content in (b"", b"trace")]
    + [(suffix, TRACE) for suffix in PACK],
    ids=lambda value: value if isinstance(value, str) else str(len(value)),
)
def test_compression_is_told_by_content(tmp_path: Path, suffix: str, content: bytes) -> None:
    jobs = tree(tmp_path / "jobs", {"a/anything": PACK[suffix](content)})
    [file] = walk(jobs, is_trace, None)
    assert file.head == content[:4096] and file.problem is None
    assert contents(jobs, tmp_path) == [("a", "anything", content)]
    assert [p.name for p in tmp_path.iterdir()] == ["jobs"]  # nothing is left behind


def test_a_gzip_file_may_begin_with_an_empty_member() -> None:
    assert plain_head(gzip.compress(b"") + gzip.compress(b"trace")) == b"trace"


@pytest.mark.parametrize("suffix", [s for s in PACK if s])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
def test_data_cut_short(tmp_path: Path, suffix: str, share: float) -> None:
    packed = PACK[suffix](TRACE)
    length = max(12, round(len(packed) * share) - 1)
    file = tree(tmp_path, {"x": packed[:length]}) / "x"
    with pytest.raises(DamagedData, match="damaged"), plain_file(file, tmp_path):
        pass
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


@pytest.mark.parametrize("suffix", [s for s in PACK if s])
def test_junk_after_a_right_beginning(tmp_path: Path, suffix: str) -> None:
    file = tree(tmp_path, {"x": PACK[suffix](TRACE)[:10] + b"junk" * 99}) / "x"
    with pytest.raises(DamagedData, match="damaged"), plain_file(file, tmp_path):
        pass
    [found_file] = walk(file, is_trace, None)
    assert found_file.problem is None or "damaged" in found_file.problem


# -- archives --------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", PACK)
def test_members_of_a_tar(tmp_path: Path, suffix: str) -> None:
    members = {"./r/0.trace": TRACE, "r/1.trace.gz": gzip.compress(b"one"), "r/empty": b""}
    if suffix == ".bz2":
        members["./r/0.trace"] = b"short"
    jobs = tree(tmp_path / "jobs", {"misnamed": tar(members, PACK[suffix])})
    assert contents(jobs, tmp_path) == [
        ("misnamed", "misnamed!r/0.trace", members["./r/0.trace"]),
        ("misnamed", "misnamed!r/1.trace.gz", b"one"),
        ("misnamed", "misnamed!r/empty", b""),
    ]


def test_member_names_are_only_labels(tmp_path: Path) -> None:
    members = {"../../up/0.trace": b"x", "/abs/1.trace": b"x", "a/../../b.trace": b"x", "..": b"x"}
    jobs = tree(tmp_path / "jobs", {"t.tar": tar(members)})
    (tmp_path / "work").mkdir()
    assert [(run, name) for run, name, _ in contents(jobs, tmp_path / "work")] == [
        ("t", "t.tar!up/0.trace"),
        ("t", "t.tar!abs/1.trace"),
        ("t", "t.tar!a/b.trace"),
        ("t", "t.tar!"),
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["jobs", "work"]


def test_links_and_folders_in_a_tar_are_passed_over(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE):
            member = tarfile.TarInfo(f"r/{kind.decode()}")
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
    jobs = tree(tmp_path / "jobs", {"t.tar": buffer.getvalue()})
    assert found(jobs) == []


@pytest.mark.parametrize("suffix", [s for s in PACK if s != ".bz2"])
@pytest.mark.parametrize("share", [0.2, 0.6])
def test_a_tar_cut_short_gives_its_problem_last(tmp_path: Path, suffix: str, share: float) -> None:
    small = {f"r/{i}.trace": random.Random(i).randbytes(20_000) for i in range(10)}
    packed = tar(small, PACK[suffix])
    jobs = tree(tmp_path / "jobs", {"t": packed[: int(len(packed) * share)]})
    files = list(walk(jobs, is_trace, None))
    assert [file.problem is None for file in files] == [*[True] * (len(files) - 1), False]
    assert "damaged" in str(files[-1].problem)
    assert files[-1].name == "t"


def encrypted(archive: bytes) -> bytes:
    """The same with the flag set that says so; nothing is decrypted before it is refused."""
    changed = bytearray(archive)
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        changed[archive.index(magic) + flags] |= 1
    return bytes(changed)


@pytest.mark.parametrize(
    ("archive", "problem"),
    [
        (encrypted(zipped({"0.trace": b"x"})), "encrypted"),
        (zipped({"0.trace": TRACE})[:-100], "damaged archive"),
        (zipped({"0.trace": b"x" * 500}).replace(b"PK\x01\x02", b"PK\x00\x00"), "damaged archive"),
    ],
    ids=["encrypted", "cut short", "directory gone"],
)
def test_a_zip_that_cannot_be_read(tmp_path: Path, archive: bytes, problem: str) -> None:
    [file] = walk(tree(tmp_path, {"x.zip": archive}) / "x.zip", is_trace, None)
    assert problem in str(file.problem)


def test_a_damaged_checkpoint_is_not_a_trace(tmp_path: Path) -> None:
    jobs = tree(tmp_path / "jobs", {"a/0.trace": b"x", "a/ckpt.pt": zipped({"d": TRACE})[:999]})
    assert not [f for f in walk(jobs, is_trace, None) if f.is_named]
