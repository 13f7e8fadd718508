"""What is known of a run, and which source is believed."""

import csv

import pytest
from rows import Trace

from pipeline import catalog
from pipeline.readers.run_description_keys import FREE_SECTION, SECTIONS


def described(trace: Trace, key: str, text: str, number: float | None, source: str = "t") -> None:
    trace.insert("run_description", source_id=source, key=key, value_text=text, value_number=number)


def file(trace: Trace, source: str, path: str, format: str = "run.toml") -> None:
    row = {"source_id": source, "path": path, "size_bytes": 1, "row_count": 1}
    trace.insert("source_file", format=format, status="complete", **row)


def test_run_toml_counts_first_and_others_are_told(trace: Trace) -> None:
    described(trace, "model.layers", "32", 32)
    trace.insert("job_argument", line=1, source_id="log", name="num_layers", value="24")
    assert trace.only("FROM run_fact") == {
        "run_id": "run",
        "key": "model.layers",
        "value_text": "32",
        "value_number": 32,
        "source": "run.toml",
        "source_id": "t",
        "other_values": "training log: 24",
    }


def test_what_run_toml_leaves_out_comes_from_a_training_log(trace: Trace) -> None:
    described(trace, "model.name", "m", None)
    trace.insert("job_argument", line=1, source_id="log", name="hidden_size", value="4096")
    assert trace.ask("SELECT key, value_number, source FROM run_fact ORDER BY key") == [
        ("model.hidden_size", 4096, "training log"),
        ("model.name", None, "run.toml"),
    ]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("seq_length", "model.sequence_length"),
        ("global_batch_size", "training.global_batch_size"),
        ("tensor_model_parallel_size", "parallelism.tensor"),
        ("tensor_parallel_size", "parallelism.tensor"),
        ("data_parallel_size", "parallelism.data"),
        ("world_size", "parallelism.world_size"),
    ],
)
def test_arguments_have_one_name_each(trace: Trace, name: str, key: str) -> None:
    trace.insert("job_argument", line=1, name=name, value="8")
    assert trace.ask("SELECT key, value_number FROM run_fact") == [(key, 8)]


def test_an_argument_that_is_not_set_or_not_known_is_no_fact(trace: Trace) -> None:
    trace.insert("job_argument", line=1, name="num_experts", value="None")
    trace.insert("job_argument", line=1, name="log_interval", value="10")
    assert trace.ask("FROM run_fact") == []


def test_the_same_value_written_in_other_ways_is_no_disagreement(trace: Trace) -> None:
    described(trace, "training.flash_attention", "true", None)
    described(trace, "model.parameters", "7000000000", 7e9)
    trace.insert("job_argument", line=1, name="use_flash_attn", value="True")
    trace.insert("job_argument", line=1, name="parameters", value="7e9")
    assert trace.ask("SELECT DISTINCT other_values FROM run_fact") == [(None,)]


def test_of_two_run_toml_the_one_nearest_the_top_counts(trace: Trace) -> None:
    file(trace, "a", "node0/run.toml")
    file(trace, "b", "run.toml")
    described(trace, "model.layers", "16", 16, source="a")
    described(trace, "model.layers", "32", 32, source="b")
    assert trace.ask("SELECT value_text, source_id, other_values FROM run_fact") == [
        ("32", "b", "run.toml: 16")
    ]


def test_the_environment_tells_ranks_hosts_and_versions(trace: Trace) -> None:
    trace.insert("run", world_size=16, node_count=2)
    trace.insert("setting", name="NCCL_VERSION", value="2.27.5")
    trace.insert("setting", name="NCCL_DEBUG", value="INFO")
    assert trace.ask("SELECT key, value_text, value_number, source FROM run_fact ORDER BY key") == [
        ("hardware.host_count", "2", 2, "nsys environment"),
        ("parallelism.world_size", "16", 16, "nsys environment"),
        ("versions.nccl", "2.27.5", None, "nsys environment"),
    ]


def test_a_version_of_another_file_says_which_format_it_comes_from(trace: Trace) -> None:
    file(trace, "n", "nv.txt", format="nvbandwidth")
    trace.insert("setting", source_id="n", name="NVIDIA_DRIVER_VERSION", value="570.1")
    assert trace.ask("SELECT key, source FROM run_fact") == [("versions.driver", "nvbandwidth")]


def test_gpus_are_counted_only_when_every_rank_is_there(trace: Trace) -> None:
    asked = "SELECT key, value_text FROM run_fact WHERE source = 'trace' ORDER BY key"
    trace.insert("run", world_size=2)
    trace.device(process=1, name="NVIDIA H100", gpu_id="A")
    assert trace.ask(asked) == [("hardware.gpu", "NVIDIA H100")]
    trace.device(process=2, name="NVIDIA H100", gpu_id="B")
    assert trace.ask(asked) == [("hardware.gpu", "NVIDIA H100"), ("hardware.gpu_count", "2")]


def test_gpus_of_two_products_have_no_one_name(trace: Trace) -> None:
    trace.device(process=1, name="NVIDIA H100", gpu_id="A")
    trace.device(process=2, name="NVIDIA A100", gpu_id="B")
    assert trace.ask("FROM run_fact") == []


def test_runs_are_apart(trace: Trace) -> None:
    for run, value in (("one", "8"), ("two", "4")):
        trace.insert("job_argument", line=1, run_id=run, name="num_layers", value=value)
    assert trace.ask("SELECT run_id, value_text, other_values FROM run_fact ORDER BY run_id") == [
        ("one", "8", None),
        ("two", "4", None),
    ]


def test_every_fact_is_one_that_run_toml_could_say() -> None:
    with catalog.reference()["fact_key"].open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len({(row["origin"], row["name"]) for row in rows}) == len(rows)
    for row in rows:
        section, _, key = row["key"].partition(".")
        assert section == FREE_SECTION or key in SECTIONS[section], row
