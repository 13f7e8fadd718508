"""Walks folders and archives: every file in them, what it begins with, and the run it belongs to.

Compression and archives are told by content. A file's bytes are fetched only when asked for,
so a walk over an archive of checkpoints reads the beginning of each file and no more.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, cast

from pipeline.errors import UserError

STORE_MARKER = "tracelake_store.json"

# Whether a file is a trace: the beginning of its content, its plain name, the file on disk.
IsTrace = Callable[[bytes, str, Path], bool]

HEAD_BYTES = 4096
# Of text more is read: a job's log may say much before its first line that a reader knows.
TEXT_HEAD_BYTES = 4 << 20
# A zstd block holds up to 128 KiB compressed; less than a block cannot be decompressed.
_RAW_HEAD_BYTES = 192 * 1024
_BZ2_BLOCK_BYTES = 1_000_000  # a block of bzip2 -9, should it not compress at all
_COPY_BYTES = 1 << 20
_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
# RuntimeError is what zipfile raises for an encrypted member.
_ARCHIVE_ERRORS = (
    OSError,
    EOFError,
    RuntimeError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
# Bytes that text consists of; backspace and escape come with terminals.
_PLAIN = bytes([8, 9, 10, 12, 13, 27, *range(32, 127), *range(128, 256)])
_COMPRESSED_SUFFIXES = (".gz", ".xz", ".zst", ".bz2")


class DamagedData(Exception):
    """Compressed data that cannot be decompressed; str() says of what kind."""


@dataclass(frozen=True)
class Found:
    """A file met on the walk.

    ``name`` is its path below the run's folder (``archive!member`` inside an archive), ``head``
    the beginning of its uncompressed content, ``signature`` changes when the file on disk does.
    ``fetch`` gives its bytes as a file in the folder passed to it; a member of an archive must be
    fetched before the walk goes on.
    """

    run_id: str
    name: str
    shown: str
    size_bytes: int
    signature: str
    head: bytes
    is_named: bool
    fetch: Callable[[Path], Path]
    problem: str | None = None

    @property
    def plain_name(self) -> str:
        """The file's own name without the suffix of its compression."""
        return plain_name(self.name)


def label(name: str) -> str:
    """A file's name as text that can be stored and printed: bytes that are no UTF-8 replaced."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def plain_name(name: str) -> str:
    """The last part of a name without the suffix of its compression."""
    last = PurePosixPath(name.rsplit("!", 1)[-1]).name
    for suffix in _COMPRESSED_SUFFIXES:
        if last.lower().endswith(suffix):
            return last[: -len(suffix)]
    return last


def walk(path: Path, is_trace: IsTrace, run: str | None) -> Iterator[Found]:
    """Every file under ``path``, in the order of their names.

    Runs: a folder directly under ``path`` is a run; where traces (by ``is_trace`` of head and
    plain name) lie directly in ``path``, it is itself one run with all below it. A file belongs
    to the run of the folder it lies in. An archive is like a folder: directly under ``path`` it
    is one run, and given as ``path`` itself each of its top folders is one. ``run`` puts
    everything into that run, under names that begin with ``path``'s own folder: several nodes
    may have called their files alike.

    Raises :class:`UserError` when ``path`` does not exist.
    """
    try:
        path.stat()
    except FileNotFoundError:
        raise UserError(str(path), "no such file or folder", "check the path") from None
    except OSError as error:
        raise UserError(
            str(path), f"no such file or folder: {error.strerror}", "check the path"
        ) from error
    if not path.is_dir():
        if not path.is_file():  # opening a pipe or a device would wait for ever
            raise UserError(str(path), "neither a file nor a folder", "name a file")
        folder = _folder_name(path.parent)
        name = f"{folder}/{path.name}" if run else path.name
        yield from _file(path, name, run or folder, run, is_named=True)
        return
    files = list(_files_below(path))
    direct = any(file.parent == path and _holds_trace(file, is_trace) for file in files)
    whole = run or (_folder_name(path) if direct else None)
    for file in files:
        below = file.relative_to(path)
        if run is not None:
            yield from _file(file, f"{_folder_name(path)}/{below.as_posix()}", run, run)
        elif whole is not None:
            yield from _file(file, below.as_posix(), whole, whole)
        elif len(below.parts) > 1:
            name = PurePosixPath(*below.parts[1:]).as_posix()
            yield from _file(file, name, below.parts[0], below.parts[0])
        else:
            yield from _file(file, below.name, _folder_name(path), archive_stem(file))


def total_bytes(path: Path) -> int:
    """Bytes on disk of everything under ``path``: what a progress bar is measured against."""
    files = _files_below(path) if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def archive_stem(file: Path) -> str:
    """An archive's name without its suffixes: ``job42.tar.gz`` -> ``job42``."""
    name = plain_name(file.name)
    return name.rpartition(".")[0] if _is_called_archive(file) else name


def _is_called_archive(file: Path) -> bool:
    """Many other files are zip or tar inside: checkpoints, wheels, NumPy's arrays."""
    return plain_name(file.name).lower().endswith((".tar", ".tgz", ".txz", ".tzst", ".zip"))


def _folder_name(folder: Path) -> str:
    return folder.resolve().name or "run"


def _files_below(folder: Path) -> Iterator[Path]:
    seen = set()
    for parent, folders, names in os.walk(folder, followlinks=True):
        folders.sort()
        real = os.path.realpath(parent)
        if real in seen:  # a link back up would never end
            folders.clear()
            continue
        seen.add(real)
        if STORE_MARKER in names:  # a store is not input
            folders.clear()
            continue
        for name in sorted(names):
            file = Path(parent, name)
            if file.is_file():
                yield file


def _holds_trace(file: Path, is_trace: IsTrace) -> bool:
    try:
        head = plain_head(_raw_head(file))
    except (OSError, DamagedData):
        head = b""
    return _archive_kind(head) is None and is_trace(head, plain_name(file.name), file)


def _raw_head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return _read_head(stream)


def _read_head(stream: IO[bytes]) -> bytes:
    raw = stream.read(_RAW_HEAD_BYTES)
    kind = compression(raw)
    if kind == "bz2":
        raw += stream.read(_BZ2_BLOCK_BYTES)
    elif kind is None and text_encoding(raw[:HEAD_BYTES]):
        raw += stream.read(TEXT_HEAD_BYTES - len(raw))
    return raw


def text_encoding(head: bytes) -> str | None:
    """The encoding of a file that begins so, None when it is no text.

    By its byte order mark, else by where its zero bytes are: UTF-16 of mostly Latin text has
    every other byte zero. Text of any other encoding is read as UTF-8.
    """
    head = head[:HEAD_BYTES]
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    zeros = head.count(0)
    if zeros > len(head) // 10:
        even, odd = head[::2].count(0), head[1::2].count(0)
        if max(even, odd) > 0.8 * len(head) / 2 and min(even, odd) < 0.05 * len(head) / 2:
            return "utf-16-le" if odd > even else "utf-16-be"
        return None
    strange = len(head.translate(None, _PLAIN)) - zeros
    return "utf-8" if head and strange <= len(head) // 20 else None


def compression(raw: bytes) -> str | None:
    """``gzip``, ``xz``, ``zstd`` or ``bz2`` by the first bytes, None when not compressed."""
    return next((kind for magic, kind in _MAGIC.items() if raw.startswith(magic)), None)


def plain_head(raw: bytes) -> bytes:
    """The beginning of the uncompressed content, from the beginning of the file.

    Raises :class:`DamagedData` when the compressed data are damaged.
    """
    head = _plain_head(raw, HEAD_BYTES)
    if text_encoding(head):
        return _plain_head(raw, TEXT_HEAD_BYTES)
    return head


def _plain_head(raw: bytes, length: int) -> bytes:
    kind = compression(raw)
    try:
        if kind == "gzip":
            return _gzip_head(raw, length)
        if kind == "xz":
            return lzma.LZMADecompressor().decompress(raw, length)
        if kind == "bz2":
            return bz2.BZ2Decompressor().decompress(raw, length)
        if kind == "zstd":
            return _zstd_head(raw, length)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DamagedData(f"damaged {kind} data: {error}") from error
    return raw[:length]


def _gzip_head(raw: bytes, length: int) -> bytes:
    head = b""
    while raw and not head:  # a gzip file is a row of members, and the first may be empty
        member = zlib.decompressobj(31)
        head = member.decompress(raw, length)
        raw = member.unused_data
    return head


def _zstd_head(raw: bytes, length: int) -> bytes:
    import pyarrow as pa

    head = b""
    with pa.CompressedInputStream(pa.BufferReader(raw), "zstd") as stream:
        while len(head) < length:
            try:
                more = bytes(stream.read(min(length - len(head), HEAD_BYTES)))
            except OSError:
                if head:  # where the raw beginning ends inside a frame
                    break
                raise
            if not more:
                break
            head += more
    return head


def _archive_kind(head: bytes) -> str | None:
    if head[257:262] == b"ustar":
        return "tar"
    return "zip" if head.startswith(b"PK\x03\x04") else None


def _stat_signature(file: Path) -> tuple[int, str]:
    stat = file.stat()
    return stat.st_size, f"{stat.st_size}:{stat.st_mtime_ns}:{stat.st_ctime_ns}"


def _file(
    file: Path, name: str, run: str, run_of_archive: str | None, is_named: bool = False
) -> Iterator[Found]:
    """One file on disk: itself, or the members of the archive that it is."""
    size, signature, head, problem = 0, "", b"", None
    try:
        size, signature = _stat_signature(file)
        head = plain_head(_raw_head(file))
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    except DamagedData as error:
        problem = str(error)
    kind = _archive_kind(head)
    if kind is None:
        shown = label(str(file))
        yield Found(
            label(run), label(name), shown, size, signature, head, is_named, lambda _: file, problem
        )
        return
    opened = _tar_members(file) if kind == "tar" else _zip_members(file)
    stem = archive_stem(file)
    broken: list[str] = []  # members that could not be fetched: told already
    try:
        for member, length, stream in opened:
            top, slash, rest = member.partition("/")
            member_run = run_of_archive or (top if slash else stem)
            below = rest if slash and run_of_archive is None else member
            member_name = f"{name}!{below}"
            yield _member(
                file, stream, member_run, member_name, length, signature, is_named, broken
            )
    except _ARCHIVE_ERRORS as error:
        if broken:
            return
        yield Found(
            label(run_of_archive or stem),
            label(name),
            label(str(file)),
            size,
            signature,
            b"",
            is_named or _is_called_archive(file),
            lambda _: file,
            f"damaged archive: {error}",
        )


def _member(
    file: Path,
    stream: IO[bytes],
    run: str,
    name: str,
    length: int,
    signature: str,
    is_named: bool,
    broken: list[str],
) -> Found:
    raw = _read_head(stream)
    head, problem = b"", None
    try:
        head = plain_head(raw)
    except DamagedData as error:
        problem = str(error)

    def fetch(folder: Path) -> Path:
        handle, copy = tempfile.mkstemp(dir=folder)
        try:
            with os.fdopen(handle, "wb") as out:
                out.write(raw)
                shutil.copyfileobj(stream, out, _COPY_BYTES)
        except _ARCHIVE_ERRORS as error:
            Path(copy).unlink()
            if isinstance(error, OSError) and error.errno is not None:  # the disk's
                raise
            broken.append(name)
            raise DamagedData(f"damaged archive: {error}") from error
        return Path(copy)

    shown = label(f"{file}!{name.rsplit('!', 1)[-1]}")
    return Found(label(run), label(name), shown, length, signature, head, is_named, fetch, problem)


def _tar_members(file: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    with open_plain(file) as stream, tarfile.open(fileobj=stream, mode="r|") as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isfile() else None
            if content is not None:
                yield _clean(member.name), member.size, content


def _zip_members(file: Path) -> Iterator[tuple[str, int, IO[bytes]]]:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if not member.is_dir():
                with archive.open(member) as content:
                    yield _clean(member.filename), member.file_size, content


def _clean(member: str) -> str:
    """A member's name without ``./``, ``/`` and ``..``: it is only ever a label here."""
    parts = [part for part in PurePosixPath(member).parts if part not in (".", "..", "/")]
    return "/".join(parts)


@contextmanager
def open_plain(file: Path) -> Iterator[IO[bytes]]:
    """The uncompressed content of ``file`` as a stream."""
    with file.open("rb") as raw:
        kind = compression(raw.read(8))
        raw.seek(0)
        if kind == "gzip":
            with gzip.GzipFile(fileobj=raw) as unzipped:
                yield cast(IO[bytes], unzipped)
        elif kind == "xz":
            with lzma.LZMAFile(raw) as stream:
                yield stream
        elif kind == "bz2":
            with bz2.BZ2File(raw) as decompressed:
                yield decompressed
        elif kind == "zstd":
            import pyarrow as pa

            zstd = pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
            yield cast(IO[bytes], io.BufferedReader(zstd))
        else:
            yield raw


@contextmanager
def plain_file(file: Path, work: Path) -> Iterator[Path]:
    """``file`` itself when it is not compressed, else its content as a file in ``work``.

    Raises :class:`DamagedData` when the compressed data are damaged or cut short.
    """
    with file.open("rb") as raw:
        kind = compression(raw.read(8))
    if kind is None:
        yield file
        return
    handle, name = tempfile.mkstemp(dir=work)
    copy = Path(name)
    try:
        try:
            with os.fdopen(handle, "wb") as out, open_plain(file) as stream:
                shutil.copyfileobj(stream, out, _COPY_BYTES)
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise DamagedData(f"damaged {kind} data: {error}") from error
        except OSError as error:
            if error.errno is not None:  # the disk's, not the data's
                raise
            raise DamagedData(f"damaged {kind} data: {error}") from error
        yield copy
    finally:
        copy.unlink(missing_ok=True)
