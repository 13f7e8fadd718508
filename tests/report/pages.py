"""Which sample jobs the tests make pages of."""

from pathlib import Path

SAMPLES = Path(__file__).parents[2] / "sample_traces"
# Whole, graphs recorded as one, without GPU, counters, and telemetry alone.
RUNS = ("ddp_late_rank", "cuda_graph", "cpu_only", "gpu_metrics", "throttled_gpu")
