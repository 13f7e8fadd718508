"""What an export says about the machine, its processes, the capture and itself."""

from datetime import UTC, datetime

import nsys_schema
from description import global_pid, us
from nsys_file import NsysFile
from simulation import Recording

VM = 1 << 48
EVERYWHERE = -144115188075855872  # globalPid of no process in particular
BOOT_NS = 357_844_000_000  # ANALYSIS_DETAILS counts from another zero than the events
NVTX_THREAD, NVTX_DOMAIN = 39, 75


def add_target(file: NsysFile) -> None:
    """The machine, its GPUs, its processes."""
    job, gpu = file.job, file.job.gpu
    seconds = file.utc // 10**9
    stamp = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    file.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=file.utc, utcTime=stamp, localTime=stamp)
    file.add(
        "ANALYSIS_DETAILS", globalVid=VM, duration=file.end,
        startTime=BOOT_NS + file.shift, stopTime=BOOT_NS + file.shift + file.end,
    )  # fmt: skip
    count = job.hosts[file.host]["gpus"]
    major, minor = gpu["compute_capability"]
    for number in range(count):
        uuid, bus = job.gpu_identity(file.host, number)
        file.add(
            "TARGET_INFO_GPU", vmId=VM, id=number, name=gpu["name"], busLocation=bus,
            isDiscrete=1, l2CacheSize=gpu["l2_bytes"], totalMemory=gpu["memory_bytes"],
            memoryBandwidth=gpu["memory_bytes_per_s"], clockRate=gpu["clock_hz"],
            smCount=gpu["sm_count"], pwGpuId=number, uuid=uuid, luid=0, chipName=gpu["chip"],
            cuDevice=count - 1 - number, ctxswDevPath="", ctrlDevPath="", threadsPerWarp=32,
            computeMajor=major, computeMinor=minor, smMajor=major, smMinor=minor,
        )  # fmt: skip
    values = {
        ("CpuCores", 1): "64",
        ("TargetInstallDir", 170): (
            f"/opt/nvidia/nsight-systems/{file.exporter.product}/target-linux-x64"
        ),
        ("NvDriverVersion", 205): "580.65.06",
        ("CudaDriverVersion", 611): "13000",
        ("Hostname", 619): file.host,
        ("DeviceEnvironment", 610): ";".join(
            f"{key}={value}" for key, value in file.environment(0).items()
        ),
    }
    for (name, number), value in values.items():
        add_system_env(file, name, number, value)
    if file.generation == "2022.4":  # real files of that time hold broken text
        add_system_env(file, "CpuDescription", 13, b"Made-up CPU \xff\xfe 64-core")
    file.add("PROCESSES", globalPid=VM + (1 << 24), pid=1, name="systemd")
    for name, rows in nsys_schema.ENUM_ROWS.items():
        for number, symbol, label in rows:
            file.add(name, id=number, name=symbol, label=label)


def add_system_env(file: NsysFile, name: str, number: int, value: str | bytes) -> None:
    """One property of the machine."""
    file.add(
        "TARGET_INFO_SYSTEM_ENV", globalVid=VM, devStateName="Local (CLI)", name=name,
        nameEnum=number, value=value,
    )  # fmt: skip


def add_process(file: NsysFile, recording: Recording) -> None:
    """One process: its names, its context and streams, what it printed."""
    process, pid = recording.process, global_pid(recording.process)
    file.add("PROCESSES", globalPid=pid, pid=process.pid, name=process.name)
    if file.job.private:
        log = f"/home/someone/streams/pid_{process.pid}_stdout.log"
        blob = "\0".join(f"{key}={value}" for key, value in file.environment(0).items())
        for name, content in ((log, file.job.private["stdout"]), ("environ", blob)):
            file.add(
                "ProcessStreams", globalPid=pid, filenameId=file.text(name),
                contentId=file.text(content),
            )  # fmt: skip
    for order, (thread, offset) in enumerate(file.job.threads.items()):
        name = "python3" if not offset else f"pt_{thread}"
        tid = file.tid(process, thread)
        file.add("ThreadNames", nameId=file.text(name), priority=20, globalTid=tid)
        file.add(
            "NVTX_EVENTS", start=-3_200_000_000 + order, eventType=NVTX_THREAD, text=name,
            globalTid=tid, domainId=0,
        )  # fmt: skip
    for order, (domain, number) in enumerate(sorted(process.domains.items())):
        file.add(
            "NVTX_EVENTS", start=-3_100_000_000 + order, eventType=NVTX_DOMAIN, text=domain,
            globalTid=file.tid(process, "main"), domainId=number,
        )  # fmt: skip
    if not recording.device_work(file.trace.graph_trace):
        return
    place = {"hwId": 0, "vmId": 1, "processId": process.pid, "contextId": 1}
    for table in ("TARGET_INFO_CUDA_NULL_STREAM", "TARGET_INFO_CUDA_CONTEXT_INFO"):
        file.add(
            table, **place, deviceId=process.device, streamId=7, nullStreamId=7,
            parentContextId=0, isGreenContext=0,
        )  # fmt: skip
    file.add("TARGET_INFO_CUDA_DEVICE", gpuId=process.gpu, cudaId=process.device, pid=process.pid)
    for stream in file.job.streams.values():
        flag = 3 if stream == 7 else 2
        file.add("TARGET_INFO_CUDA_STREAM", **place, streamId=stream, priority=0, flag=flag)


def add_diagnostics(file: NsysFile) -> None:
    """What the profiler itself remarked."""
    pid = global_pid(file.recordings[0].process)
    stop = {"at_us": file.end / 1000, "source": 3, "severity": 1}
    for event in [*file.job.diagnostics, {**stop, "text": "Profiling has stopped."}]:
        file.add(
            "DIAGNOSTIC_EVENT", timestamp=us(event["at_us"]) + file.shift, timestampType=1,
            source=event["source"], severity=event["severity"], text=event["text"],
            globalPid=pid if event.get("is_process") else EVERYWHERE,
        )  # fmt: skip


def add_capture_meta(file: NsysFile) -> None:
    """The options of the capture, the command and its environment."""
    process = file.recordings[0].process
    pairs = [("DEVICE_ID", "Local (CLI)")]
    pairs += [("CAPTURE_EVENT_TYPE", kind) for kind in ("OSRuntime", "NvtxEvents", "Cuda")]
    pairs += [("PROCESS_0:COMMAND", "/usr/bin/python3")]
    pairs += [
        (f"PROCESS_0:ARGUMENT_{number}", word)
        for number, word in enumerate(process.command.split())
    ]
    pairs += [
        ("PROCESS_0:WORKING_DIR", "/home/someone"),
        ("PROCESS_0:USER_NAME", file.job.private.get("user", "")),
    ]
    pairs += [
        ("PROCESS_0:ENVIRONMENT_VARIABLE", f'{key}="{value}"')
        for key, value in file.environment(0).items()
    ]
    mode = file.trace.graph_trace.capitalize()
    pairs += [("PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", mode)]
    for name, value in pairs:
        file.add("META_DATA_CAPTURE", name=name, value=value)


def add_export_meta(file: NsysFile) -> None:
    """What exported it, and how; the time taken comes last and says the file is whole."""
    major, minor, micro = file.exporter.schema.split(".")
    stamp = datetime.fromtimestamp(file.utc // 10**9 + 120, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    is_old = file.generation == "2022.4"
    param = "EXPORT_" if is_old else "EXPORT_PARAM_"
    output = "OUTPUT" if file.generation == "2025.5" else "OUTUPT"  # their spelling
    taken = ("EXPORT_TIME", "0.05" + file.exporter.time_suffix)
    pairs = [
        ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems"),
        ("EXPORT_PRODUCT_VERSION", file.exporter.product),
        ("EXPORT_PRODUCT_DATE", file.generation),
        ("EXPORT_SCHEMA_VERSION", file.exporter.schema),
        ("EXPORT_SCHEMA_VERSION_MAJOR", major),
        ("EXPORT_SCHEMA_VERSION_MINOR", minor),
        ("EXPORT_SCHEMA_VERSION_MICRO", micro),
        ("EXPORT_SCHEMA_VERSION_CKSUM", file.exporter.checksum),
        ("EXPORT_PLATFORM", "linux-desktop"),
        ("EXPORT_ARCH", "x64"),
        *([taken] if is_old else []),
        ("EXPORT_TIME_UTC", stamp),
        ("EXPORT_TIME_LOCAL", stamp if is_old else stamp + " +0000 UTC"),
        ("EXPORT_HOST", ""),
        ("EXPORT_USER", ""),
        (f"{param}INPUT_FILE", f"{file.trace.name}.nsys-rep"),
        (f"{param}{output}_FILE", f"{file.trace.name}.sqlite"),
        (f"{param}OVERWRITE", "true"),
        (f"{param}LAZY", str(file.trace.lazy).lower()),
    ]
    if not is_old:
        pairs += [
            ("EXPORT_PARAM_TIME_NORMALIZE", str(file.trace.time_shift).lower()),
            ("EXPORT_PARAM_TIME_SHIFT", "0"),
            ("EXPORT_CONFIG_TIME_SHIFT", str(file.shift)),
            taken,
        ]
    for name, value in pairs:
        file.add(file.exporter.meta_table, name=name, value=value)
