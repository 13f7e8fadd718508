"""Readers: one module per format, tried in this order.

A reader is a module with

- ``FORMAT``: what ``source_file.format`` says;
- ``SUFFIXES``: names that promise this format: a file called so is a trace even if broken;
- ``recognise(head)``: whether a file with this :class:`~pipeline.readers.record.Head` may hold
  this format (``read`` decides). A text file may hold several: each of their readers reads it;
- ``read(path, name, pieces, hints)``: a :class:`~pipeline.readers.record.Recording` of the
  uncompressed file at ``path``, called ``name`` in its run, in up to ``pieces`` parts that can
  be read at once. Raises :class:`~pipeline.readers.record.NotThisFormat` and
  :class:`~pipeline.readers.record.Refused`. The file is never written to;
- optionally ``why_not(head, beside)``: for a file that no reader recognises, why this reader
  cannot take it though it is called as if it could; ``beside`` are the names in its folder.
"""

from __future__ import annotations

from pipeline.readers import (
    dcgm_dmon,
    dcgm_stats,
    nccl_tests,
    nccl_tests_bench,
    ncu,
    nsys,
    nvbandwidth,
    perftest,
    prometheus_json,
    prometheus_text,
    run_description,
    sb_monitor,
    smi_dmon,
    smi_nvlink,
    smi_query,
    smi_topology,
    training_log,
)

READERS = (
    nsys,
    ncu,
    run_description,
    nccl_tests,
    nccl_tests_bench,
    training_log,
    perftest,
    nvbandwidth,
    smi_topology,
    smi_nvlink,
    dcgm_dmon,
    dcgm_stats,
    sb_monitor,
    smi_dmon,
    smi_query,
    prometheus_text,
    prometheus_json,
)

__all__ = ["READERS"]
