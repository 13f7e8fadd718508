"""Prefixes of launchers: a line in, the bare line and whose it is out."""

import pytest

from pipeline.readers.launcher_prefix import Prefixed, announced_host, without_prefix


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("plain  text", Prefixed("plain  text")),
        ("3:   text", Prefixed("  text", task=3)),
        (" 3: text", Prefixed("text", task=3)),
        ("3:", Prefixed("", task=3)),
        ("[1,2]<stdout>:text", Prefixed("text", task=2)),
        ("[1,2]<stderr>: text", Prefixed("text", task=2, is_stderr=True)),
        ("[prterun-n1-7@1,2]<stdout>: text", Prefixed("text", task=2)),
        ("Mon Nov  4 10:00:00 2024[1,2]<stdout>:text", Prefixed("text", task=2)),
        ("Mon Nov  4 10:00:00 2024<stderr>:text", Prefixed("text", is_stderr=True)),
        ("[1,2][node-a:77]<stdout>: text", Prefixed("text", task=2)),
        ("[2] text", Prefixed("text", task=2)),
        ("[rank2]:[titan] text", Prefixed("[titan] text", task=2)),
        ("[default7]: text", Prefixed("text", local_rank=7)),
        ("vm-07-05: [default7]:text", Prefixed("text", local_rank=7, host="vm-07-05")),
        ("node12: text", Prefixed("text", host="node12")),
        ("(Worker pid=12, ip=10.0.0.1) text", Prefixed("text", host="10.0.0.1")),
        ("2025-01-02T03:04:05.678Z text", Prefixed("text", time="2025-01-02T03:04:05.678Z")),
        (
            "2025-01-02T03:04:05+01:00 stdout F 0: text",
            Prefixed("text", task=0, time="2025-01-02T03:04:05+01:00"),
        ),
        ("[pod/job-0/main] text", Prefixed("text", host="job-0")),
        (
            "[pod/job-0/main] 2025-01-02T03:04:05Z text",
            Prefixed("text", host="job-0", time="2025-01-02T03:04:05Z"),
        ),
        ("alpha: GPU 0  12", Prefixed("GPU 0  12", host="alpha")),
        ("worker-0  | # HELP a b", Prefixed("# HELP a b", host="worker-0")),
        # The line's own text.
        ("alpha: text", Prefixed("alpha: text")),
        ("ERROR: # text", Prefixed("ERROR: # text")),
        ("[1] 10:11:12 [SUCCESS] node1", Prefixed("[1] 10:11:12 [SUCCESS] node1")),
        ("7: 8: text", Prefixed("8: text", task=7)),
        ("WARNING: text", Prefixed("WARNING: text")),
        ("http://host1: text", Prefixed("http://host1: text")),
        ("[2025-01-02 03:04:05] text", Prefixed("[2025-01-02 03:04:05] text")),
        ("host:12:34 [0] NCCL INFO text", Prefixed("host:12:34 [0] NCCL INFO text")),
        ("12:34:56 text", Prefixed("12:34:56 text")),
    ],
)
def test_prefixes(line: str, expected: Prefixed) -> None:
    assert without_prefix(line) == expected


def test_one_process_is_told_from_another() -> None:
    assert without_prefix("1: a").who == without_prefix("[1,1]<stderr>:b").who
    assert without_prefix("1: a").who != without_prefix("2: a").who


def test_pssh_announces_a_host() -> None:
    assert announced_host("[2] 10:11:12 [SUCCESS] node-1") == "node-1"
    assert announced_host("[2] 10:11:12 [FAILURE] n2 Exited with error code 1") == "n2"
    assert announced_host("[2] GPU 0") is None
