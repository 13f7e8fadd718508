"""What lines between the beginning and the end of a test say of it: versions, options, verdicts."""

from __future__ import annotations

from pipeline.readers import nccl_tests_lines as lines
from pipeline.readers.nccl_tests_run import Test


def tell(text: str, test: Test) -> bool:
    """Puts what a line says of a begun test into it; whether it says anything."""
    if version := lines.library(text):
        test.nccl_version = test.nccl_version or version
    elif compiled := lines.compiled(text):
        test.nccl_header_version = compiled
    elif found := lines.bounds(text):
        count, is_ok = test.out_of_bounds or (0, None)
        test.out_of_bounds = (count + found[0], found[1] if is_ok is not False else False)
    elif average := lines.average(text):
        test.average = None if test.is_interleaved else average
        test.footer_count += 1
    elif memory := lines.memory(text):
        test.memory = memory
    elif text.startswith("Blocking Enabled"):
        test.is_blocking = True
    elif text.startswith("Parallel Init Enabled"):
        test.has_parallel_init = True
    elif text.startswith("Per-Iteration Report"):
        test.has_iteration_report = True
    elif lines.is_cycle(text):
        test.begin_sweep()
    elif text.startswith("Rank ") and not test.layout:
        test.has_whole_list = False  # cut at 2048 bytes per process
    else:
        return False
    return True
