from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.archive import text_encoding
from pipeline.readers import text
from pipeline.readers.record import Head, Issue
from pipeline.readers.text import Skipped, blocks, lines, rank_in_name, without_escapes


def written(folder: Path, content: bytes) -> Path:
    file = folder / "log.txt"
    file.write_bytes(content)
    return file


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_lines_of_every_encoding(tmp_path: Path, encoding: str) -> None:
    file = written(tmp_path, "step 1\r\nstep 2 (µs)\n".encode(encoding))
    assert list(lines(file)) == [(1, "step 1"), (2, "step 2 (µs)")]
    assert list(blocks(file)) == [(1, "step 1\nstep 2 (µs)\n".encode())]
    assert Head(file.read_bytes()).text.lstrip("\ufeff") == "step 1\nstep 2 (µs)\n"


def test_a_carriage_return_ends_a_line_too(tmp_path: Path) -> None:
    file = written(tmp_path, b" 1%\r 2%\r\ndone")
    assert list(lines(file)) == [(1, " 1%"), (2, " 2%"), (3, "done")]
    assert list(blocks(file)) == [(1, b" 1%\n 2%\n"), (3, b"done\n")]


def test_what_is_no_valid_text_is_replaced(tmp_path: Path) -> None:
    assert list(lines(written(tmp_path, b"a\xffb\n"))) == [(1, "a\ufffdb")]


def test_a_line_without_end_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_LONGEST_LINE", 4)
    assert list(lines(written(tmp_path, b"123456789\nab\n"))) == [(1, "1234"), (2, "ab")]


@given(
    content=st.lists(st.sampled_from(["a", "bc", "\n", "\r", "\r\n", "é"])).map("".join),
    size=st.integers(1, 7),
)
def test_blocks_are_the_lines_wherever_they_are_cut(content: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_BLOCK_BYTES", size)
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            file = written(Path(folder), content.encode())
            expected = list(lines(file))
            found = [
                (number + i, line)
                for number, block in blocks(file)
                for i, line in enumerate(block.decode().removesuffix("\n").split("\n"))
            ]
    assert found == expected


def test_a_terminals_colours() -> None:
    assert without_escapes("\x1b[31mstep: 10\x1b[0m \x1b]0;title\x07x") == "step: 10 x"


@pytest.mark.parametrize(
    ("name", "rank"),
    [("job/rank3.log", 3), ("rank_12.txt", 12), ("frank3", None), ("local_rank1", None)],
)
def test_rank_in_a_name(name: str, rank: int | None) -> None:
    assert rank_in_name(name) == rank


def test_skipped_lines_are_quoted_once_per_reason_and_counted() -> None:
    skipped = Skipped()
    skipped.add("no number", 7, "step:  x")
    skipped.add("torn line", 9, "st")
    skipped.add("no number", 8, "step: y", count=2)
    assert skipped.count == 4
    assert skipped.issues("check it") == [
        Issue("warning", "line 7", "no number: 'step: x'", "check it", 3),
        Issue("warning", "line 9", "torn line: 'st'", "check it", 1),
    ]


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        (b"", None),
        (b"plain\n", "utf-8"),
        (b"\x1b[4mGPU0\x1b[0m\t|", "utf-8"),
        (b"torn\0\0" + b"x" * 50, "utf-8"),  # holes that a crash of the file server left
        (b"SQLite format 3\0\x10\0\x01\x01\0\x40\x20\x20", None),
        (b"\x7fELF\x02\x01\x01" + b"\0" * 9, None),
        (b"\0" * 100, None),
    ],
)
def test_what_is_text(head: bytes, encoding: str | None) -> None:
    assert text_encoding(head) == encoding
