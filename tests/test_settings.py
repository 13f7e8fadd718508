"""Thresholds of one's own in tracelake.toml."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.cli import main
from pipeline.errors import UserError
from pipeline.settings import own_thresholds


def of(folder: Path, text: str) -> dict[str, float]:
    file = folder / "tracelake.toml"
    file.write_text(text, encoding="utf-8")
    return own_thresholds(file)


def test_thresholds_are_read(tmp_path: Path) -> None:
    assert of(tmp_path, "[thresholds]\nkernel_gap_ns = 20000\nwall_share = 0.2\n") == {
        "kernel_gap_ns": 20000.0,
        "wall_share": 0.2,
    }
    assert of(tmp_path, "") == {}


def test_no_file_sets_nothing(tmp_path: Path) -> None:
    assert own_thresholds(tmp_path / "tracelake.toml") == {}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\n[thresholds]\nkernel_gap = 1", ":3: 'kernel_gap': no such threshold; did you mean"),
        ("[thresholds]\nzzz = 1", ":2: 'zzz': no such threshold; see 'tracelake query threshold'"),
        ("[thresholds]\nwall_share = '1'", ":2: 'wall_share': must be a number"),
        ("[thresholds]\nwall_share = true", ":2: 'wall_share': must be a number"),
        ("[thresholds]\nwall_share = nan", ":2: 'wall_share': must be a number"),
        ("[threshold]\nwall_share = 1", ":1: 'threshold': unknown key"),
        ("thresholds = 3", ":1: 'thresholds': must be a table"),
        ("[thresholds", "not TOML"),
    ],
)
def test_a_fault_names_its_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError) as error:
        of(tmp_path, text)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("wall_shar=0.1", "--set wall_shar: no such threshold; did you mean 'wall_share'?"),
        ("zzz=1", "--set zzz: no such threshold; see 'tracelake query threshold'"),
        ("wall_share=nan", "'wall_share=nan' is not NAME=VALUE with a number"),
        ("wall_share", "'wall_share' is not NAME=VALUE with a number"),
    ],
)
def test_a_fault_on_the_command_line_is_short(text: str, said: str) -> None:
    told = CliRunner().invoke(main, ["query", "threshold", "--set", text])
    assert told.exit_code == 2 and said in told.stderr and len(told.stderr) < 300


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "tracelake.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(UserError, match="cannot be read"):
        own_thresholds(tmp_path / "tracelake.toml")
