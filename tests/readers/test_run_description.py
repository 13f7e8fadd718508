"""run.toml: what it says is kept key by key; a fault names its line and the way out."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from link_reading import Read, mangled, rows_or_refusal

from pipeline.ingest import ingest
from pipeline.readers import run_description
from pipeline.readers.record import Head, Refused
from pipeline.readers.run_description_keys import HOST_KEYS, SECTIONS
from pipeline.store import Store

TEXT = '''# What this run was.
[run]
series = "nightly"
start = 2026-03-02T09:00:00+01:00
notes = """
first line
[model]
layers = 1"""

[model]
parameters = 7e9
layers = 32
[training]
flash_attention = true
recomputation = "selective"
[cost]
price_per_gpu_hour = 2.5
[versions]
cuda = "12.10"
my_library = "0.1"
[hosts.node-a]
rack = "r1"
power_domain = "left"
[hosts."node-b.example"]
addresses = [
    "10.0.0.2", # the first rail
    "LID 0xd06",
]
'''


def read(folder: Path, text: str) -> Read:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return Read(run_description, path)


def problem(folder: Path, text: str) -> str:
    with pytest.raises(Refused) as caught:
        read(folder, text)
    assert caught.value.way_out == "see 'run.toml' in the README"
    return caught.value.problem


def test_each_key_is_a_row_with_its_line(tmp_path: Path) -> None:
    columns = ("key", "value_text", "value_number", "line")
    assert read(tmp_path, TEXT).rows("run_description", *columns) == [
        ("run.series", "nightly", None, 3),
        ("run.start", "2026-03-02T08:00:00Z", None, 4),
        ("run.notes", "first line\n[model]\nlayers = 1", None, 5),
        ("model.parameters", "7000000000", 7e9, 11),
        ("model.layers", "32", 32, 12),
        ("training.flash_attention", "true", None, 14),
        ("training.recomputation", "selective", None, 15),
        ("cost.price_per_gpu_hour", "2.5", 2.5, 17),
        ("versions.cuda", "12.10", None, 19),
        ("versions.my_library", "0.1", None, 20),
    ]


def test_hosts_have_places_and_addresses(tmp_path: Path) -> None:
    found = read(tmp_path, TEXT)
    assert found.rows("host_placement", "host", "rack", "power_domain", "line") == [
        ("node-a", "r1", "left", 21),
        ("node-b.example", None, None, 24),
    ]
    assert found.rows("host_address", "host", "address", "line") == [
        ("node-b.example", "10.0.0.2", 25),
        ("node-b.example", "LID 0xd06", 25),
    ]


def test_it_may_be_empty_or_written_in_other_ways(tmp_path: Path) -> None:
    assert read(tmp_path, "").tables == {}
    found = read(tmp_path, "run.name = 'x'\nmodel = { layers = 3 }\r\nhosts.a.rack = 'r'\r\n")
    assert found.rows("run_description", "key", "value_text", "line") == [
        ("run.name", "x", 1),
        ("model.layers", "3", 2),
    ]
    assert found.rows("host_placement", "host", "rack", "line") == [("a", "r", 3)]


def test_only_the_very_name_is_recognised() -> None:
    assert run_description.recognise(Head(b"", "run.toml"))
    assert not run_description.recognise(Head(b"[run]", "first_run.toml"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[modle]\n", "line 1: unknown key 'modle', did you mean 'model'?"),
        ("\n[model]\nlayer = 2\n", "line 3: unknown key 'layer', did you mean 'layers'?"),
        ("[model]\nzero_stage = 1\n", "line 2: unknown key 'zero_stage', it belongs in"
         " [parallelism]"),
        ("[run]\nprice_per_gpuhour = 2\n", "line 2: unknown key 'price_per_gpuhour', did you mean"
         " 'price_per_gpu_hour' in [cost]?"),
        ("[hosts.a]\nrak = 'r'\n", "line 2: unknown key 'rak', did you mean 'rack'?"),
        ("layers = 2\n", "line 1: unknown key 'layers', it belongs in [model]"),
        ("[run]\nq = 2\n", "line 2: unknown key 'q', known are name, series, start, notes"),
    ],
)  # fmt: skip
def test_a_misspelt_key_names_its_line_and_the_nearest(
    tmp_path: Path, text: str, said: str
) -> None:
    assert problem(tmp_path, text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[model]\nlayers = 2.5\n", "line 2: 'layers' must be a whole number"),
        ("[model]\nlayers = '2'\n", "line 2: 'layers' must be a whole number"),
        ("[model]\nlayers = true\n", "line 2: 'layers' must be a whole number"),
        ("[model]\nlayers = 0\n", "line 2: 'layers' must be 1 or more, and less than 2^53"),
        ("[model]\nname = ' '\n", "line 2: 'name' must not be empty"),
        ("[cost]\npue = 0.9\n", "line 2: 'pue' must be 1 or more"),
        ("[cost]\nprice_per_kwh = inf\n", "line 2: 'price_per_kwh' must be more than 0"),
        ("[versions]\ncuda = 12.10\n", "line 2: 'cuda' must be text in quotes: 12.10 without them"
         " is 12.1"),
        ("[run]\nstart = '2026-03-02'\n", "line 2: 'start' must be a date and time without quotes,"
         " e.g. 2026-03-02T08:00:00Z"),
        ("[telemetry]\nutc_offset = '1'\n", "line 2: 'utc_offset' must be hours and minutes from"
         ' UTC in quotes, e.g. "+01:00"'),
        ("[parallelism]\nzero_stage = 4\n", "line 2: 'zero_stage' must be one of 0, 1, 2, 3"),
        ("[hosts]\na = 'r1'\n", "line 2: 'hosts.a' must be a table: [hosts.a]"),
        ("[[model]]\nlayers = 2\n", "line 1: 'model' must be a table: [model]"),
        ("[hosts.a]\naddresses = '10.0.0.1'\n", "line 2: 'addresses' must be a list of texts in"
         " quotes"),
        ("[run]\nname = \n", "line 2: not TOML: invalid value"),
        ("[run]\nname = 'a'\nname = 'b'\n", "line 3: not TOML: cannot overwrite a value"),
        ("[run\n", "line 1: not TOML: expected ']' at the end of a table declaration"),
        ("x = [1,\n", "line 1: not TOML: invalid value"),
    ],
)  # fmt: skip
def test_a_wrong_value_names_its_line(tmp_path: Path, text: str, said: str) -> None:
    assert problem(tmp_path, text) == said


def test_several_faults_are_told_at_once(tmp_path: Path) -> None:
    said = problem(tmp_path, "[model]\na = 1\nb = 1\nc = 1\nd = 1\ne = 1\n")
    assert said.count("unknown key") == 3
    assert said.endswith("; and 2 more")


def test_every_known_key_is_taken(tmp_path: Path) -> None:
    values = ["'bf16'", "'selective'", "2", "2.0", "true", "'+01:00'", "2026-03-02T08:00:00Z"]
    for section, keys in SECTIONS.items():
        for key in keys:
            taken = [v for v in values if not refuses(tmp_path, f"[{section}]\n{key} = {v}\n")]
            assert taken, f"{section}.{key}"
    for key in HOST_KEYS:
        assert not all(refuses(tmp_path, f"[hosts.a]\n{key} = {v}\n") for v in ("'r'", "['r']"))


def refuses(folder: Path, text: str) -> bool:
    try:
        read(folder, text)
    except Refused:
        return True
    return False


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(["truncate", "shuffle", "change"]))
def test_whatever_happens_to_a_file_it_is_refused_or_what_toml_says(
    tmp_path: Path, seed: int, kind: str
) -> None:
    content = mangled(TEXT.encode(), seed, kind)
    rows = rows_or_refusal(run_description, tmp_path, content)
    if rows and kind != "change":
        said: dict[str, Any] = tomllib.loads(content.decode())
        for row in rows:
            if row["table"] == "run_description" and "value_number" in row:
                section, _, key = row["key"].partition(".")
                assert row["value_number"] == said[section][key]


def test_a_fault_is_one_line_of_an_ingest(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    store = Store.create(tmp_path / "store")
    (folder / "run.toml").write_text("[modle]\n", encoding="utf-8")
    (outcome,) = ingest([folder], store, jobs=1).outcomes
    assert outcome.kind == "refused" and outcome.fault is not None
    assert outcome.fault.problem == "line 1: unknown key 'modle', did you mean 'model'?"
    (folder / "run.toml").write_text("[model]\nlayers = 2\n", encoding="utf-8")
    (outcome,) = ingest([folder], store, jobs=1).outcomes
    assert (outcome.kind, outcome.row_count) == ("stored", 1)
