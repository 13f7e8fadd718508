"""Writes simulated processes as one Nsight Systems SQLite export, in memory."""

import nsys_about
import nsys_events
import nsys_payloads
import nsys_schema
from description import Job, TraceFile
from gpu_samples import Sample
from nsys_file import NsysFile
from simulation import Recording


def export(
    job: Job, trace: TraceFile, recordings: list[Recording], samples: list[Sample]
) -> tuple[bytes, dict[str, int]]:
    """The SQLite file, and how many rows each of its tables has."""
    made = NsysFile(job, trace, recordings)
    nsys_about.add_target(made)
    for recording in recordings:
        nsys_about.add_process(made, recording)
        if trace.payloads:
            nsys_payloads.add_schemas(made, recording)
        nsys_events.add_host_events(made, recording)
        nsys_events.add_device_events(made, recording)
    nsys_about.add_diagnostics(made)
    nsys_events.add_metrics(made, samples)
    nsys_about.add_capture_meta(made)
    nsys_about.add_export_meta(made)
    content = made.write()
    tables = nsys_schema.tables(made.generation)
    counts = {name: len(made.rows.get(name, [])) for name in sorted(tables)}
    return content, {name: n for name, n in counts.items() if n or not trace.lazy}
