"""Writes what a job's hosts say of their links: perftest between each two, topo -m, nvlink -s."""

from decimal import Decimal
from itertools import permutations
from pathlib import Path
from typing import Any

LINE = "-" * 87
GBIT = 125_000_000  # bytes
LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

"""  # noqa: E501


def write(description: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Writes the files below `folder`; returns the truth they contain."""
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, Any] = {}
    for client, server in permutations(description["hosts"], 2):
        name = f"{client['name']}_to_{server['name']}.ib_write_bw.txt"
        text, truth = _bandwidth(description, client, server)
        _write(folder / name, text)
        files[name] = {"link_benchmark": truth}
    for host in description["hosts"]:
        for name, (text, truth) in {
            f"{host['name']}.topo.txt": _topology(description, host),
            f"{host['name']}.nvlink.txt": _nvlinks(description, host),
        }.items():
            _write(folder / name, text)
            files[name] = truth
    return {
        "title": description["title"],
        "slow_pair": [description["slow"]["source"], description["slow"]["destination"]],
        "missing_link": description["missing_link"],
        "files": files,
    }


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _bandwidth(
    description: dict[str, Any], client: dict[str, Any], server: dict[str, Any]
) -> tuple[str, list[dict[str, Any]]]:
    """One test over all message sizes, as the client prints it."""
    test = description["perftest"]
    slow = description["slow"]
    is_slow = (client["name"], server["name"]) == (slow["source"], slow["destination"])
    lines = [
        LINE,
        "                    RDMA_Write BW Test",
        f" Dual-port       : OFF\t\tDevice         : {test['device']}",
        f" Number of qps   : {test['queue_pairs']}\t\tTransport type : IB",
        " Connection type : RC\t\tUsing SRQ      : OFF",
        " PCIe relax order: ON",
        " ibv_wr* API     : ON",
        " TX depth        : 128",
        " CQ Moderation   : 1",
        f" Mtu             : {test['mtu_bytes']}[B]",
        " Link type       : Ethernet",
        " GID index       : 3",
        " Max inline data : 0[B]",
        " rdma_cm QPs\t : OFF",
        " Data ex. method : Ethernet",
        LINE,
        " local address: LID 0000 QPN 0x0131 PSN 0xcdddde",
        f" GID: {_gid(client['address'])}",
        " remote address: LID 0000 QPN 0x0132 PSN 0x90f79b",
        f" GID: {_gid(server['address'])}",
        LINE,
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
    ]
    truth = []
    for exponent in range(1, 24):
        size = 1 << exponent
        # A message costs as much as this many bytes besides its own.
        best = Decimal(test["gbit_per_s"]) * size / (size + test["overhead_bytes"])
        average = best * Decimal(slow["factor"]) if is_slow else best
        digits = 6 if average < Decimal("0.1") else 2  # as perftest does
        peak, average = _rounded(average * Decimal("1.002"), digits), _rounded(average, digits)
        rate = _rounded(average * GBIT / size / 1_000_000, 6)
        cells = f" {size:<10} {test['iterations']:<10}     {peak:<7}            {average:<7}"
        lines.append(f"{cells}\t\t   {rate}")
        row = {"size_bytes": size, "iteration_count": test["iterations"], "line": len(lines)}
        row["peak_bandwidth_bytes_per_s"] = float(peak * GBIT)
        row["bandwidth_bytes_per_s"] = float(average * GBIT)
        row["message_rate_per_s"] = float(rate * 1_000_000)
        row |= {"source": client["address"], "destination": server["address"]}
        row |= {"test": "ib_write_bw", "device": test["device"], "mtu_bytes": test["mtu_bytes"]}
        truth.append(row)
    return "\n".join([*lines, LINE, ""]), truth


def _rounded(value: Decimal, digits: int) -> Decimal:
    return value.quantize(Decimal(1).scaleb(-digits))


def _gid(address: str) -> str:
    return ":".join(
        ["00"] * 10 + ["255", "255"] + [f"{int(part):02d}" for part in address.split(".")]
    )


def _topology(description: dict[str, Any], host: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The matrix of one host below its name, with tabs and an underlined header."""
    gpus, nics = description["gpus"], description["nics"]
    devices = [f"GPU{n}" for n in range(gpus)] + [f"NIC{n}" for n in range(len(nics))]
    per_socket = gpus // 2

    def code(a: int, b: int) -> str:
        if a == b:
            return "X"
        if a < gpus and b < gpus:
            return f"NV{description['nvlinks']}"
        near = [at if at < gpus else (at - gpus) * gpus // len(nics) for at in (a, b)]
        if near[0] // per_socket != near[1] // per_socket:
            return "SYS"
        return "PIX" if near[0] == near[1] else "NODE"

    labels = ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]
    lines = [host["name"], "\t\x1b[4m" + "\t".join([*devices, *labels]) + "\x1b[0m"]
    links, affinities = [], []
    for at, device in enumerate(devices):
        codes = [code(at, other) for other in range(len(devices))]
        row = device + "".join(f"\t {c} " if c == "X" else f"\t{c}" for c in codes)
        if at < gpus:
            socket = at // per_socket
            cpus = f"{socket * 48}-{socket * 48 + 47}"
            row += f"\t{cpus}\t{socket}\t\tN/A"
            affinities.append({"device": device, "cpu_affinity": cpus, "numa_node": socket})
        lines.append(row)
        links += [
            {
                "source": device,
                "destination": other,
                "kind": "nvlink" if c.startswith("NV") else c.lower(),
                "link_count": int(c[2:]) if c.startswith("NV") else None,
                "destination_name": nics[to - gpus] if to >= gpus else None,
                "line": len(lines),
            }
            for to, (other, c) in enumerate(zip(devices, codes, strict=True))
            if c != "X"
        ]
    legend = "".join(f"  NIC{n}: {name}\n" for n, name in enumerate(nics))
    return "\n".join(lines) + "\n" + LEGEND + legend, {"link": links, "device_affinity": affinities}


def _nvlinks(description: dict[str, Any], host: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The links of one host's GPUs; the missing one is not listed."""
    missing = description["missing_link"]
    lines, links = [], []
    for gpu in range(description["gpus"]):
        uuid = f"{host['uuid_begin']}-0000-0000-0000-{gpu:012d}"
        lines.append(f"GPU {gpu}: {description['gpu']} (UUID: GPU-{uuid})")
        for number in range(description["nvlinks"]):
            if missing == {"host": host["name"], "gpu": gpu, "link": number}:
                continue
            lines.append(f"\t Link {number}: {description['nvlink_gbyte_per_s']} GB/s")
            speed = Decimal(description["nvlink_gbyte_per_s"]) * 1_000_000_000
            links.append(
                {
                    "source": f"GPU{gpu}",
                    "gpu_id": uuid,
                    "link_number": number,
                    "bandwidth_bytes_per_s": float(speed),
                    "status": "active",
                    "line": len(lines),
                }
            )
    return "\n".join([*lines, ""]), {"link": links}
