"""perftest: a few lines of its output in, rows of link_benchmark out."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from link_reading import mangled, read_text, recognises, rows_or_refusal

from pipeline.ingest import ingest
from pipeline.readers import perftest
from pipeline.readers.record import Hints
from pipeline.store import Store

TRACES = Path(__file__).parents[3] / "shared" / "traces" / "perftest"
RULE = "-" * 87 + "\n"
BANDWIDTH = " #bytes     #iterations    BW peak[{0}]    BW average[{0}]   MsgRate[Mpps]\n"
LATENCY = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
    "    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
)
ROW = " 65536      1000             361.82             361.67               0.689839\n"
SPEED = ("size_bytes", "peak_bandwidth_bytes_per_s", "bandwidth_bytes_per_s", "message_rate_per_s")


def banner(
    title: str = "RDMA_Write BW Test", depth: bool = True, device: str = "mlx5_0", **more: str
) -> str:
    options = {"Mtu             ": "1024[B]", "Link type       ": "Ethernet", **more}
    if depth:
        options["TX depth        "] = "128"
    return (
        f"{RULE}                    {title}\n"
        f" Dual-port       : OFF\t\tDevice         : {device}\n"
        " Number of qps   : 2\t\tTransport type : IB\n"
        " Connection type : RC\t\tUsing SRQ      : OFF\n"
        + "".join(f" {name}: {value}\n" for name, value in options.items())
        + RULE
    )


def addresses(local: int, remote: int) -> str:
    gid = "00:00:00:00:00:00:00:00:00:00:255:255:10:00:00"
    return (
        f" local address: LID 0000 QPN 0x0131 PSN 0xcdddde\n GID: {gid}:{local:02d}\n"
        f" remote address: LID 0000 QPN 0x0132 PSN 0x90f79b\n GID: {gid}:{remote:02d}\n{RULE}"
    )


def test_a_test_and_its_banner(tmp_path: Path) -> None:
    text = banner() + addresses(1, 2) + BANDWIDTH.format("Gb/sec") + ROW + RULE
    read = read_text(perftest, tmp_path, text, Hints(host="node-a"))
    assert read.tables["link_benchmark"] == [
        {
            "tool": "perftest",
            "test": "ib_write_bw",
            "status": "measured",
            "kind": "bandwidth",
            "verb": "write",
            "is_bidirectional": False,
            "host": "node-a",
            "source": "10.0.0.1",
            "destination": "10.0.0.2",
            "device": "mlx5_0",
            "link_layer": "Ethernet",
            "connection_type": "RC",
            "mtu_bytes": 1024,
            "queue_pair_count": 2,
            "size_bytes": 65536,
            "iteration_count": 1000,
            "bandwidth_bytes_per_s": 361.67 * 125e6,
            "peak_bandwidth_bytes_per_s": 361.82 * 125e6,
            "message_rate_per_s": 689839,
            "table_number": 0,
            "line": 16,
        }
    ]
    assert (read.facts.status, read.issues) == ("complete", [])


@pytest.mark.parametrize("unit", ["MB/sec", "MiB/sec"])
def test_megabytes_were_mebibytes_before_they_were_called_so(tmp_path: Path, unit: str) -> None:
    row = " 65536      5000             11728.00             11725.00               0.187600\n"
    read = read_text(perftest, tmp_path, BANDWIDTH.format(unit) + row)
    assert read.rows("link_benchmark", *SPEED) == [(65536, 11728 << 20, 11725 << 20, 187600)]


def test_the_peak_of_a_test_by_duration_is_none_not_zero(tmp_path: Path) -> None:
    row = " 65536      4159603          0.00               363.47             0.693268\n"
    read = read_text(perftest, tmp_path, BANDWIDTH.format("Gb/sec") + row)
    assert read.rows("link_benchmark", *SPEED) == [(65536, None, 363.47 * 125e6, 693268)]


def test_latencies_are_in_ns(tmp_path: Path) -> None:
    noise = "Conflicting CPU frequency values detected: 1000.000000 != 1259.399000. CPU ...\n"
    row = " 2       1000          2.64           5.50         2.69     2.70   0.02  2.75  5.50\n"
    read = read_text(perftest, tmp_path, banner("Send Latency Test") + LATENCY + noise + row + RULE)
    names = ("min", "max", "typical", "avg", "stdev", "p99", "p999")
    columns = [f"latency_{name}_ns" for name in names]
    assert read.rows("link_benchmark", *columns) == [(2640, 5500, 2690, 2700, 20, 2750, 5500)]
    assert read.rows("link_benchmark", "test", "kind") == [("ib_send_lat", "latency")]


def test_the_five_columns_of_old_latencies(tmp_path: Path) -> None:
    header = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n"
    read = read_text(perftest, tmp_path, header + " 2       1000          1.27    3.34    1.33\n")
    columns = ("latency_min_ns", "latency_typical_ns", "latency_avg_ns")
    assert read.rows("link_benchmark", *columns) == [(1270, 1330, None)]


def test_latency_by_duration_has_transactions_per_second(tmp_path: Path) -> None:
    header = " #bytes        #iterations       t_avg[usec]    tps average\n"
    read = read_text(perftest, tmp_path, header + " 2       900000      2.64    378787.88\n")
    columns = ("latency_avg_ns", "message_rate_per_s")
    assert read.rows("link_benchmark", *columns) == [(2640, 378787.88)]


def test_latencies_in_cycles_are_left_out(tmp_path: Path) -> None:
    text = "#, cycles\n" + LATENCY + " 2 1000 2.64 5.50 2.69 2.69 0.02 2.75 5.50\n"
    read = read_text(perftest, tmp_path, text)
    assert read.refusal is not None
    assert "in cycles of a clock that is not told" in read.refusal.problem


def test_cpu_and_service_level(tmp_path: Path) -> None:
    header = (
        " #bytes    #sl      #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]"
        "    CPU_Util[%]\n"
    )
    row = (
        " 65536    3           1000           361.82            361.67         0.689839    12.50\n"
    )
    read = read_text(perftest, tmp_path, header + row)
    columns = ("service_level", "cpu_busy_share", "bandwidth_bytes_per_s")
    assert read.rows("link_benchmark", *columns) == [(3, 0.125, 361.67 * 125e6)]


def test_columns_of_ports_are_left_their_sum_is_kept(tmp_path: Path) -> None:
    header = BANDWIDTH.format("Gb/sec").rstrip() + (
        "   BW Port1[Gb/sec]   MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]\n"
    )
    row = ROW.rstrip() + "  180.00  0.343322  181.67  0.346517\n"
    read = read_text(perftest, tmp_path, header + row)
    assert read.rows("link_benchmark", "bandwidth_bytes_per_s") == [361.67 * 125e6]


def test_small_values_have_six_decimals(tmp_path: Path) -> None:
    row = " 2          5000           0.101672            0.083211            5.200694\n"
    read = read_text(perftest, tmp_path, BANDWIDTH.format("Gb/sec") + row)
    assert read.rows("link_benchmark", *SPEED) == [(2, 12709000, 10401375, 5200694)]


@pytest.mark.parametrize(
    ("title", "is_client", "source"),
    [
        ("RDMA_Write BW Test", True, "10.0.0.1"),
        ("RDMA_Write BW Test", False, "10.0.0.2"),
        ("RDMA_Read BW Test", True, "10.0.0.2"),
        ("RDMA_Read BW Test", False, "10.0.0.1"),
        ("Send Bidirectional BW Test", True, "10.0.0.1"),
    ],
)
def test_data_comes_from_the_end_that_sends_it(
    tmp_path: Path, title: str, is_client: bool, source: str
) -> None:
    text = banner(title, depth=is_client) + addresses(1, 2) + BANDWIDTH.format("Gb/sec") + ROW
    read = read_text(perftest, tmp_path, text)
    assert read.rows("link_benchmark", "source") == [source]
    assert read.rows("link_benchmark", "is_bidirectional") == ["Bidirectional" in title]


def test_infiniband_has_a_lid_for_an_address(tmp_path: Path) -> None:
    lids = " local address: LID 0xd06 QPN 0x1 PSN 0x3\n remote address: LID 0xd07 QPN 0x1 PSN 0x3\n"
    text = banner() + lids + BANDWIDTH.format("Gb/sec") + ROW
    read = read_text(perftest, tmp_path, text)
    assert read.rows("link_benchmark", "source", "destination") == [("LID 0xd06", "LID 0xd07")]


def test_memory_of_a_gpu(tmp_path: Path) -> None:
    text = "initializing CUDA\nPicking device No. 3\n" + banner() + BANDWIDTH.format("Gb/sec") + ROW
    text += RULE + banner() + BANDWIDTH.format("Gb/sec") + ROW + RULE
    read = read_text(perftest, tmp_path, text)
    assert read.rows("link_benchmark", "cuda_device_id") == [3, None]


def test_both_ends_in_one_file(tmp_path: Path) -> None:
    """What both say alike is kept; the device of which row it is, nobody knows."""
    text = banner(depth=False) + banner(device="mlx5_1") + BANDWIDTH.format("Gb/sec") * 2
    text += ROW + RULE + ROW + RULE
    read = read_text(perftest, tmp_path, text)
    assert read.rows("link_benchmark", "table_number", "test", "device") == [
        (0, "ib_write_bw", None),
        (1, "ib_write_bw", None),
    ]
    assert read.facts.status == "complete"


def test_tests_one_after_the_other(tmp_path: Path) -> None:
    text = banner() + BANDWIDTH.format("Gb/sec") + ROW + RULE
    text += banner("Send BW Test", device="mlx5_1") + BANDWIDTH.format("Gb/sec") + ROW + RULE
    read = read_text(perftest, tmp_path, text)
    assert read.rows("link_benchmark", "table_number", "test", "device") == [
        (0, "ib_write_bw", "mlx5_0"),
        (1, "ib_send_bw", "mlx5_1"),
    ]


def test_reports_of_both_ends(tmp_path: Path) -> None:
    header = BANDWIDTH.format("Gb/sec")
    text = banner("Send Bidirectional BW Test") + header + ROW + RULE
    text += (
        f" Local results: \n{RULE}{header}{ROW}{RULE} Remote results: \n{RULE}{header}{ROW}{RULE}"
    )
    read = read_text(perftest, tmp_path, text)
    assert read.rows("link_benchmark", "side") == [None, "local", "remote"]
    assert read.facts.status == "complete"


def test_a_launcher_puts_something_before_each_line(tmp_path: Path) -> None:
    one = banner() + BANDWIDTH.format("Gb/sec") + ROW + RULE
    lines = [f"(worker1, pid=33870) {line}" for line in one.splitlines()]
    lines += [f"2026-03-02T08:00:00.{n:06d}Z stdout F {line}" for n, line in enumerate(lines)]
    read = read_text(perftest, tmp_path, "\n".join(lines) + "\n")
    assert read.rows("link_benchmark", "test", "device") == [("ib_write_bw", "mlx5_0")] * 2


def test_a_test_without_results_is_told(tmp_path: Path) -> None:
    done = banner() + BANDWIDTH.format("Gb/sec") + ROW + RULE
    read = read_text(perftest, tmp_path, done + banner())
    assert (read.facts.status, len(read.tables["link_benchmark"])) == ("incomplete", 1)
    assert [problem for _, problem, _ in read.issues] == ["a test that printed no results"]


def test_a_file_of_nothing_but_a_banner_is_refused(tmp_path: Path) -> None:
    assert recognises(perftest, banner())
    read = read_text(perftest, tmp_path, banner())
    assert read.refusal is not None
    assert read.refusal.problem == "tests were begun, but none printed a table of results"


def test_a_row_that_is_not_whole_is_skipped_and_quoted(tmp_path: Path) -> None:
    text = BANDWIDTH.format("Gb/sec") + ROW + " 131072     1000   361.82   36l.67   0.34\n"
    text += " 262144     1000             361.82\n"
    read = read_text(perftest, tmp_path, text)
    assert read.rows("link_benchmark", "size_bytes") == [65536]
    assert read.issues == [
        ("line 3", "a row with a cell that is no number: '131072 1000 361.82 36l.67 0.34'", 1),
        ("line 4", "a row with other columns than its header: '262144 1000 361.82'", 1),
    ]


def test_the_last_number_of_a_file_that_was_cut_is_not_believed(tmp_path: Path) -> None:
    text = BANDWIDTH.format("Gb/sec") + ROW + ROW.rstrip()
    assert len(read_text(perftest, tmp_path, text).tables["link_benchmark"]) == 2
    read = read_text(perftest, tmp_path, text[:-2])
    assert len(read.tables["link_benchmark"]) == 1
    assert "the file ends within a row" in read.issues[0][1]


def test_columns_that_are_not_known_are_not_guessed(tmp_path: Path) -> None:
    header = " #bytes     #iterations    BW peak[GB/sec]    BW average[GB/sec]   MsgRate[Mpps]\n"
    read = read_text(perftest, tmp_path, header + ROW)
    assert read.refusal is not None
    assert "columns are not known" in read.refusal.problem


def test_numbers_that_contradict_each_other_are_kept_and_told(tmp_path: Path) -> None:
    row = " 65536      1000             361.82             161.67               0.689839\n"
    read = read_text(perftest, tmp_path, BANDWIDTH.format("Gb/sec") + row)
    assert read.rows("link_benchmark", "bandwidth_bytes_per_s") == [161.67 * 125e6]
    assert "contradict each other" in read.issues[0][1]


JSON = """{
"test_info": {
"test": "RDMA_Write_BW_Test",
"Device": "mlx5_11",
"TX_depth": 128,
"Mtu": 1024,
"Link_type": "Ethernet"
},
"results": {
"MsgSize": 65536,
"n_iterations": 5000,
"BW_peak": 5293.52,
"BW_average": %s,
"MsgRate": 0.035668
}
}
"""


@pytest.mark.parametrize(("average", "unit"), [("2229.27", 1 << 20), ("18.70", 125_000_000)])
def test_json_does_not_say_its_unit_but_its_rate_does(
    tmp_path: Path, average: str, unit: int
) -> None:
    assert recognises(perftest, JSON % average)
    read = read_text(perftest, tmp_path, JSON % average)
    assert read.rows("link_benchmark", "bandwidth_bytes_per_s", "mtu_bytes", "line") == [
        (pytest.approx(float(average) * unit), 1024, 1)
    ]
    assert read.facts.status == "complete"


def test_json_whose_unit_cannot_be_told_is_left_out(tmp_path: Path) -> None:
    read = read_text(perftest, tmp_path, JSON % "400.00")
    assert read.refusal is not None
    assert "no unit that its message rate bears out" in read.refusal.problem


def test_json_by_service_level_lacks_quotes_and_has_a_comma_too_many(tmp_path: Path) -> None:
    text = JSON.replace('"n_iter', 'sl: 3,\n"n_iter').replace("0.035668", "0.035668,") % "2229.27"
    read = read_text(perftest, tmp_path, text)
    assert read.rows("link_benchmark", "service_level", "test") == [(3, "ib_write_bw")]


def test_json_that_is_cut_is_told(tmp_path: Path) -> None:
    read = read_text(perftest, tmp_path, JSON % "2229.27" + (JSON % "2229.27")[:150])
    assert len(read.tables["link_benchmark"]) == 1
    assert read.issues == [("line 17", "JSON that is cut short or damaged", 1)]


@pytest.mark.parametrize(
    "text",
    [
        "#bytes sent\n",
        "Test of RDMA_Write\n",
        " size count type redop root time algbw busbw\n",
        "Dual-port : OFF\n",
        '{"results": {}}',
        'HEADER = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]"\n',
        "line = '{ \"test_info\": 1'\n",
    ],
)
def test_other_texts_are_not_recognised(text: str) -> None:
    assert not recognises(perftest, text)


SAMPLE = (
    banner()
    + addresses(1, 2)
    + BANDWIDTH.format("Gb/sec")
    + ROW * 3
    + RULE
    + banner("Send Latency Test")
    + LATENCY
    + " 2       1000          2.64           5.50         2.69     2.70   0.02  2.75  5.50\n"
    + RULE
    + JSON % "2229.27"
).encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from(["truncate", "shuffle", "change"]))
def test_whatever_happens_to_a_file_its_numbers_are_those_it_prints(
    tmp_path: Path, seed: int, kind: str
) -> None:
    clean = rows_or_refusal(perftest, tmp_path, SAMPLE)
    rows = rows_or_refusal(perftest, tmp_path, mangled(SAMPLE, seed, kind))
    if kind == "truncate":
        assert all(row in clean for row in rows)
    if kind == "shuffle":
        speeds = ("size_bytes", "bandwidth_bytes_per_s", "latency_avg_ns", "latency_max_ns")
        known = [[row.get(name) for name in speeds] for row in clean]
        assert all([row.get(name) for name in speeds] in known for row in rows)


# -- published files -----------------------------------------------------------------------

real = [
    pytest.mark.real_traces,
    pytest.mark.skipif(not TRACES.is_dir(), reason="the published files are not there"),
]


def published(name: str) -> str:
    return (TRACES / name).read_text(encoding="utf-8")


class TestPublished:
    pytestmark = real

    def test_a_loopback_test_prints_two_tables(self, tmp_path: Path) -> None:
        text = published("sb_ib_loopback_all_sizes.log")
        read = read_text(perftest, tmp_path, text)
        printed = re.findall(r"^(\d+) +(\d+) +([\d.]+) +([\d.]+)\s+([\d.]+)$", text, re.MULTILINE)
        assert len(printed) == 24
        assert read.rows("link_benchmark", "iteration_count", *SPEED) == [
            (
                int(iterations),
                int(size),
                pytest.approx(float(peak) * 2**20, rel=1e-12),
                pytest.approx(float(average) * 2**20, rel=1e-12),
                pytest.approx(float(rate) * 1e6, rel=1e-12),
            )
            for size, iterations, peak, average, rate in printed
        ]
        assert read.rows("link_benchmark", "table_number") == [0] * 23 + [1]
        about = ("source", "destination", "device", "mtu_bytes", "link_layer", "queue_pair_count")
        assert set(read.rows("link_benchmark", *about)) == {
            ("LID 0xd06", "LID 0xd06", "ib0", 4096, "IB", 1)
        }
        assert (read.facts.status, read.issues) == ("complete", [])

    def test_a_test_by_duration(self, tmp_path: Path) -> None:
        read = read_text(perftest, tmp_path, published("ib_write_bw_duration_peak0.txt"))
        assert read.rows("link_benchmark", *SPEED) == [(65536, None, 45433750000, 693268)]
        assert read.issues == []

    def test_a_sweep_of_small_messages(self, tmp_path: Path) -> None:
        read = read_text(perftest, tmp_path, published("ib_bw_roce_sweep_precision.txt"))
        assert read.rows("link_benchmark", *SPEED) == [
            (2, 12709000, 10401375, 5200694),
            (4, 26250000, 22500000, 5523125),
            (8, 52500000, 48750000, 6120008),
            (16, 106250000, 97500000, 6105113),
        ]


def test_a_file_in_another_encoding_is_ingested(tmp_path: Path) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    text = (banner() + BANDWIDTH.format("Gb/sec") + ROW + RULE).replace("\n", "\r\n")
    (folder / "ib.log").write_bytes(text.encode("utf-16"))
    store = Store.create(tmp_path / "store")
    summary = ingest([folder], store, jobs=1)
    assert [(o.kind, o.row_count, o.issues) for o in summary.outcomes] == [("stored", 1, ())]
    asked = "SELECT size_bytes, bandwidth_bytes_per_s FROM link_benchmark"
    assert store.connect(asked=["link_benchmark"]).execute(asked).fetchall() == [
        (65536, 361.67 * 125e6)
    ]


@pytest.mark.parametrize(
    "row",
    [
        " 65536      5000             abc              92.75              0.176908",
        " 65536x     5x00             abc              92.x5              0.17x908",
        " 65536      5000",
        " 65536",
        " 0          5000             92.80            92.75              0.176908",
    ],
)
def test_a_table_of_broken_rows_alone_is_refused_by_its_line(tmp_path: Path, row: str) -> None:
    read = read_text(perftest, tmp_path, BANDWIDTH.format("Gb/sec") + row + "\n" + RULE)
    assert read.refusal
    assert "line 2: a row with " in read.refusal.problem
    assert f"'{' '.join(row.split())}'" in read.refusal.problem


def test_a_table_without_a_row_is_not_called_a_test_without_a_table(tmp_path: Path) -> None:
    read = read_text(perftest, tmp_path, BANDWIDTH.format("Gb/sec") + "Killed\n")
    assert read.refusal
    assert read.refusal.problem == "a table of results was begun, but has no row"


@pytest.mark.parametrize(
    "others",
    [
        "# nThread 1 nGpus 2 minBytes 8 maxBytes 64\n"
        " 8  2  float  sum  -1  24.31  0.00  0.00  0  24.31  0.00  0.00  0\n",
        "GPU 0     98.112    0.998    0.412\n",
        "# gpu   pwr gtemp mtemp    sm\n    0    70    35    40    12\n    0   123    44\n",
        " iteration        5/     100 | elapsed time per iteration (ms): 2.0 |\n",
        "a line\n" * 3 + " 2208 2048 5608 0 358.154755 141.598150\n",
    ],
)
def test_other_tools_lines_in_a_table_are_neither_rows_nor_told(
    tmp_path: Path, others: str
) -> None:
    text = BANDWIDTH.format("Gb/sec") + ROW + others + ROW + RULE
    read = read_text(perftest, tmp_path, text)
    assert [row["size_bytes"] for row in read.tables["link_benchmark"]] == [65536, 65536]
    assert "0 123 44" not in str(read.issues)
    assert len(read.issues) <= ("gtemp" in others)  # 5 numbers under 5 columns


def test_a_row_below_the_rule_of_another_process_is_told(tmp_path: Path) -> None:
    text = BANDWIDTH.format("Gb/sec") + ROW + RULE + ROW
    read = read_text(perftest, tmp_path, text)
    assert len(read.tables["link_benchmark"]) == 1
    (issue,) = read.issues
    assert issue[0] == "line 4"
    assert issue[1].startswith("a row below the end of its table")


def test_rows_without_a_decimal_are_not_perftests(tmp_path: Path) -> None:
    dmon = "    1     19      8      0      0\n"
    text = banner() + addresses(1, 2) + BANDWIDTH.format("Gb/sec") + dmon + ROW + dmon + RULE
    read = read_text(perftest, tmp_path, text + dmon)
    assert [row["size_bytes"] for row in read.tables["link_benchmark"]] == [65536]
    assert read.issues == []
