"""The README's commands do what it says, in the order in which it says them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import pipeline
from pipeline.cli import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line.removeprefix("$ tracelake "))
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("$ tracelake ")
]


def test_the_tour(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TRACELAKE_STORE", raising=False)
    for folder in ("sample_traces", "sample_history"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    assert len(COMMANDS) >= 8
    for command in COMMANDS:
        result = CliRunner().invoke(main, command)
        assert result.exit_code == 0, f"{command}: {result.output}"
    assert (tmp_path / "demo/report/index.html").exists()
    shares = pipeline.open_store("demo/store").sql("FROM nccl_time_share").fetchall()
    assert len(shares) > 10


def test_make_has_the_two_commands() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_every_view_named_in_the_readme_exists() -> None:
    from pipeline import catalog

    known = {*catalog.queries(), *catalog.tables(), *catalog.reference()}
    named = set(re.findall(r"tracelake (?:query|describe) (\w+)", README))
    assert named and named <= known
