"""Who and what an Nsight Systems export describes: versions, host, ranks, devices, completeness.

An export says these things in different tables depending on the version that wrote it
(docs: the exporter's schema notes; EXPORT_META_DATA until schema 3.0, META_DATA_* since 3.4).
Environment and arguments are read here to find ranks and versions, and only the
allow-listed variables leave this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pipeline.readers.record import Facts, Refused, Status
from pipeline.readers.sqlite_pages import Kind, SqliteFile
from pipeline.readers.text import rank_in_name

Row = dict[str, int | float | str | bytes | None]

# Environment variables that hold the global rank, best first. PALS_RANKID comes last: it was
# seen to be 0 next to the true SLURM ranks.
_RANK_VARIABLES = (
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
    "PALS_RANKID",
)
_WORLD_SIZE_VARIABLES = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
_NODE_COUNT_VARIABLES = ("SLURM_NNODES", "SLURM_JOB_NUM_NODES", "NNODES")
_JOB_VARIABLES = ("SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID")
_OTHER_VARIABLES = (
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "NODE_RANK",
    "GROUP_RANK",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_VERSION",
    "CUDNN_VERSION",
    "PYTORCH_VERSION",
    "NVIDIA_PYTORCH_VERSION",
)
_ALLOWED = frozenset(
    _RANK_VARIABLES
    + _WORLD_SIZE_VARIABLES
    + _NODE_COUNT_VARIABLES
    + _JOB_VARIABLES
    + _OTHER_VARIABLES
)
# Of NCCL_*, these name files, users' folders or hosts.
_NCCL_PRIVATE = re.compile(r"_FILE$|^NCCL_(COMM_ID|HOSTID|OOB_NET|NETDEVS_POLICY)")


def rows(db: SqliteFile, table: str, **kinds: Kind) -> list[Row]:
    """The rows of a small table; a missing table has none, a missing column is all None."""
    if table not in db.tables:
        return []
    present = {column.name for column in db.tables[table]}
    wanted = {name: kind for name, kind in kinds.items() if name in present}
    if not wanted:
        return []
    absent: Row = {name: None for name in kinds if name not in present}
    return [row | absent for batch in db.batches(table, wanted) for row in batch.to_pylist()]


def as_int(value: object) -> int | None:
    """An integer from an integer or a decimal text; None for anything else."""
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 63 else None
    if isinstance(value, str) and re.fullmatch(r"\s*-?\d{1,19}\s*", value):
        number = int(value)
        return number if -(1 << 63) <= number < 1 << 63 else None
    return None


def as_int32(value: object) -> int | None:
    """The same, for columns of type INTEGER: None for what does not fit."""
    number = as_int(value)
    return number if number is not None and -(1 << 31) <= number < 1 << 31 else None


@dataclass
class Identity:
    """What the small tables of an export say."""

    facts: Facts
    time_shift_ns: int = 0
    is_json_included: bool = False  # the export was told to include NVTX payloads as JSON
    settings: dict[str, str] = field(default_factory=dict)
    rank: int | None = None
    rank_source: str | None = None
    process_names: dict[int, str] = field(default_factory=dict)
    gpus: list[Row] = field(default_factory=list)
    ordinals: dict[tuple[int, int], int] = field(default_factory=dict)
    ranks: dict[int, int] = field(default_factory=dict)

    def gpu_of(self, process: int | None, device_id: int) -> Row | None:
        """The TARGET_INFO_GPU row behind a process's CUDA ordinal, None when not known.

        TARGET_INFO_GPU.id is not the CUDA ordinal. TARGET_INFO_CUDA_DEVICE (2025.1 on) maps
        the two per process; before, cuDevice is the ordinal as the profiler saw it, which
        CUDA_VISIBLE_DEVICES renumbers for the process.
        """
        if process is not None and (process, device_id) in self.ordinals:
            gpu = self.ordinals[process, device_id]
            return next((row for row in self.gpus if row["id"] == gpu), None)
        by_ordinal = {row["cuDevice"]: row for row in self.gpus if row["cuDevice"] is not None}
        visible = self.settings.get("CUDA_VISIBLE_DEVICES", "").split(",")
        if device_id < len(visible) and visible[device_id]:
            name = visible[device_id].strip()
            uuid = name.removeprefix("GPU-").removeprefix("MIG-").lower()
            for row in self.gpus:
                if len(uuid) >= 8 and str(row["uuid"] or "").lower().startswith(uuid):
                    return row
            renumbered = as_int(name)
            if renumbered in by_ordinal:
                return by_ordinal[renumbered]
        return by_ordinal.get(device_id)


def identify(db: SqliteFile, name: str) -> Identity:
    """Reads the small tables. ``name`` is the file's name below its run, a last hint of rank.

    Raises :class:`Refused` for an export that failed.
    """
    export = {str(r["name"]): r["value"] for r in _metadata(db, "EXPORT")}
    system = {
        str(r["name"]): str(r["value"] or "")
        for r in rows(db, "TARGET_INFO_SYSTEM_ENV", name="text", value="text")
    }
    capture = [(str(r["name"]), str(r["value"] or "")) for r in _metadata(db, "CAPTURE")]
    status, reason = _completeness(db, export)
    environment = dict(_environment(capture, system))
    session = next(iter(rows(db, "TARGET_INFO_SESSION_START_TIME", utcEpochNs="int")), {})
    details = next(iter(rows(db, "ANALYSIS_DETAILS", duration="int")), {})
    shift = as_int(export.get("EXPORT_CONFIG_TIME_SHIFT")) or 0
    facts = Facts(
        format="nsys-sqlite",
        schema_version=_text(export.get("EXPORT_SCHEMA_VERSION")),
        tool_version=_text(export.get("EXPORT_PRODUCT_VERSION")),
        capture_version=_capture_version(system.get("TargetInstallDir", "")),
        host=system.get("Hostname") or environment.get("HOSTNAME") or None,
        capture_start_utc_ns=as_int(session.get("utcEpochNs")),
        capture_dur_ns=as_int(details.get("duration")),
        status=status,
        status_reason=reason,
    )
    has_json = str(export.get("EXPORT_PARAM_INCLUDE_JSON")).lower() == "true"
    identity = Identity(facts, time_shift_ns=shift, is_json_included=has_json)
    identity.settings = _allowed(environment, system)
    identity.rank, identity.rank_source = _rank(environment, capture, name)
    identity.ranks = {
        process_of(owner): rank
        for r in rows(db, "MPI_RANKS", globalTid="int", rank="int")
        if (owner := as_int(r["globalTid"])) is not None
        and (rank := as_int32(r["rank"])) is not None
    }
    identity.process_names = {
        process: _program(str(r["name"] or ""))
        for r in rows(db, "PROCESSES", pid="int", name="text")
        if (process := as_int(r["pid"])) is not None
    }
    identity.gpus = _gpus(db)
    identity.ordinals = {
        (process, ordinal): gpu
        for r in rows(db, "TARGET_INFO_CUDA_DEVICE", gpuId="int", cudaId="int", pid="int")
        if (process := as_int(r["pid"])) is not None
        and (ordinal := as_int(r["cudaId"])) is not None
        and (gpu := as_int(r["gpuId"])) is not None
    }
    return identity


def process_of(global_id: int) -> int:
    """The process id in a serialised global id: hardware(8) | VM(8) | PID(24) | TID(24)."""
    return (global_id >> 24) & 0xFFFFFF


def _metadata(db: SqliteFile, which: str) -> list[Row]:
    for table in (f"META_DATA_{which}", f"{which}_META_DATA"):
        found = rows(db, table, name="text", value="text")
        if found:
            return found
    return []


def _completeness(db: SqliteFile, export: Mapping[str, object]) -> tuple[Status, str]:
    """Whether the export ran to its end. Nothing in the file says so outright.

    A failed ``nsys export`` leaves a valid SQLite file with only the string tables. In exports
    since 2023.2 EXPORT_TIME is the last row written, in the last table; those of 2022.x close
    with EXPORT_META_DATA; older ones with the thread names and target information.
    """
    filled = {table for table in db.tables if db.row_estimate(table) > 0}
    if filled <= {"StringIds", "ProcessStreams"}:
        raise Refused(
            "the export failed: the file holds strings but no tables of events",
            "run 'nsys export --type sqlite' on the report again",
        )
    if "META_DATA_EXPORT" in filled:
        if "EXPORT_TIME" in export:
            return "complete", "EXPORT_TIME, the last row an export writes, is there"
        return "incomplete", "EXPORT_TIME, the last row an export writes, is missing"
    if "EXPORT_META_DATA" in filled:
        return "complete", "EXPORT_META_DATA, the last table an export writes, is there"
    if any(table.startswith("ENUM_") for table in filled):
        return "incomplete", "the export's own metadata, written last, is missing"
    if "ThreadNames" in filled and any(t.startswith("TARGET_INFO_") for t in filled):
        return "complete", "thread names and target information, written last, are there"
    return "incomplete", "thread names or target information, written last, are missing"


def _environment(
    capture: list[tuple[str, str]], system: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Variables of the launched process; the better source comes last and so wins.

    DeviceEnvironment is ``K=V;K=V`` (a value with ``;`` in it is cut there); the capture's rows
    are ``K="V"``, one each.
    """
    for item in system.get("DeviceEnvironment", "").split(";"):
        key, equals, value = item.partition("=")
        if equals:
            yield key.strip(), value
    for name, item in capture:
        if name.endswith(":ENVIRONMENT_VARIABLE"):
            key, equals, value = item.partition("=")
            if equals:
                quoted = len(value) > 1 and value[0] == value[-1] == '"'
                yield key, value[1:-1] if quoted else value


def _allowed(environment: Mapping[str, str], system: Mapping[str, str]) -> dict[str, str]:
    kept = {
        key: value
        for key, value in environment.items()
        if key in _ALLOWED
        or (key.startswith("NCCL_") and not _NCCL_PRIVATE.search(key) and "/" not in value)
    }
    for name, setting in (
        ("NvDriverVersion", "NVIDIA_DRIVER_VERSION"),
        ("CudaDriverVersion", "CUDA_DRIVER_VERSION"),
    ):
        if system.get(name):
            kept[setting] = system[name]
    return kept


def _rank(
    environment: Mapping[str, str], capture: list[tuple[str, str]], name: str
) -> tuple[int | None, str | None]:
    """The rank of the launched process: environment, then arguments, then the file's name."""
    for variable in _RANK_VARIABLES:
        rank = as_int32(environment.get(variable))
        if rank is not None:
            return rank, f"environment {variable}"
    arguments = [v for k, v in capture if re.fullmatch(r"PROCESS_0:ARGUMENT_\d+", k)]
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        option, equals, value = argument.partition("=")
        if option in ("--rank", "-rank", "--global-rank", "--global_rank"):
            rank = as_int32(value if equals else following)
            if rank is not None:
                return rank, f"argument {option}"
    rank = rank_in_name(name)
    return rank, None if rank is None else "file name"


def first_number(settings: Mapping[str, str], variables: tuple[str, ...]) -> int | None:
    """The first of these variables that holds a number."""
    numbers = (as_int32(settings.get(variable)) for variable in variables)
    return next((number for number in numbers if number is not None), None)


def run_row(identity: Identity) -> Row:
    """The one row of table ``run`` that this file contributes."""
    settings = identity.settings
    return {
        "job_id": next((settings[v] for v in _JOB_VARIABLES if settings.get(v)), None),
        "world_size": first_number(settings, _WORLD_SIZE_VARIABLES),
        "node_count": first_number(settings, _NODE_COUNT_VARIABLES),
        "start_utc_ns": identity.facts.capture_start_utc_ns,
    }


def _gpus(db: SqliteFile) -> list[Row]:
    found = rows(
        db,
        "TARGET_INFO_GPU",
        id="int",
        deviceId="int",
        name="text",
        busLocation="text",
        uuid="text",
        totalMemory="int",
        memoryBandwidth="int",
        clockRate="int",
        smCount="int",
        cuDevice="int",
        computeMajor="int",
        computeMinor="int",
    )
    # Until 2021 the id was called deviceId and was the CUDA ordinal; sizes stood in a table
    # of their own.
    sizes = {
        r["deviceId"]: r
        for r in rows(
            db,
            "TARGET_INFO_CUDA_GPU",
            deviceId="int",
            globalMemorySize="int",
            coreClockRate="int",
            numMultiprocessors="int",
            computeCapabilityMajor="int",
            computeCapabilityMinor="int",
        )
    }
    for row in found:
        row |= {name: as_int32(row[name]) for name in ("cuDevice", "smCount")}
        if row["id"] is None:
            row["id"] = row["cuDevice"] = row["deviceId"]
        old = sizes.get(row["deviceId"])
        if old:
            row |= {
                # MiB and kHz. The bandwidth of these exports is a 32-bit overflow: left out.
                "totalMemory": _scaled(old["globalMemorySize"], 1 << 20),
                "clockRate": _scaled(old["coreClockRate"], 1000),
                "smCount": old["numMultiprocessors"],
                "computeMajor": old["computeCapabilityMajor"],
                "computeMinor": old["computeCapabilityMinor"],
            }
    return found


def _scaled(value: object, factor: int) -> int | None:
    return value * factor if isinstance(value, int) else None


def _capture_version(install_folder: str) -> str | None:
    found = re.search(r"[Nn]sight-?[Ss]ystems(?:-cli)?[-/](\d{4}\.\d+(?:\.\d+)*)", install_folder)
    return found[1] if found else None


def _program(command: str) -> str:
    """The executable's name without folder and arguments, which may hold private things.

    Where a blank leaves open what is which, only the name of an interpreter is kept.
    """
    if command and not re.search(r"\s", command):
        return command.rsplit("/", 1)[-1]
    interpreter = re.search(r"(?:^|/)(python[\d.]*|torchrun|mpirun|mpiexec|srun)\s", command)
    return interpreter[1] if interpreter else ""


def _text(value: object) -> str | None:
    return None if value is None else str(value)
