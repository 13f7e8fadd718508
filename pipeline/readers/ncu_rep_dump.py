"""Run as a program of its own: prints a .ncu-rep as JSON, a line per profiled kernel.

NVIDIA's library (package ncu-report) is native code that reads files of strangers: what it does
to its process must not reach ours. Only the library and the standard library are imported here.
"""

from __future__ import annotations

import json
import math
import sys
from typing import Any

# Names of the messages' types as the CSV has them.
_RULE_TYPES = {"OK": "INF", "OPTIMIZATION": "OPT", "WARNING": "WRN", "ERROR": "ERR"}


def main(path: str) -> None:
    """Prints the library's version, then every kernel of the report."""
    import ncu_report

    context = ncu_report.load_report(path)
    _print({"library": str(context.get_version())})
    for number in range(context.num_ranges()):
        in_range = context.range_by_idx(number)
        for index in range(in_range.num_actions()):
            _print(_kernel(ncu_report, in_range.action_by_idx(index)))
    _print({"is_end": True})


def _print(line: dict[str, Any]) -> None:
    print(json.dumps(line, allow_nan=False), flush=True)


def _kernel(library: Any, action: Any) -> dict[str, Any]:
    return {
        "name": action.name(action.NameBase_DEMANGLED) or action.name(),
        "is_kernel": action.workload_type() == action.WorkloadType_KERNEL,
        "nvtx": _ranges(action.nvtx_state()),
        "metrics": [
            metric
            for name in sorted(action.metric_names())
            # Names of other metrics: the raw page leaves them out too.
            if not name.startswith(("breakdown:", "group:"))
            if (metric := _metric(name, action.metric_by_name(name))) is not None
        ],
        "rules": [_rule(library, rule) for rule in action.rule_results_as_dicts()],
    }


def _metric(name: str, metric: Any) -> list[Any] | None:
    """Name, unit, number and text; None for a metric without a value of its own."""
    if metric is None or not metric.has_value():
        return None
    kind = metric.kind()
    if kind == metric.ValueKind_STRING:
        return [name, metric.unit(), None, metric.as_string()]
    if kind in (metric.ValueKind_UINT32, metric.ValueKind_UINT64):
        return [name, metric.unit(), metric.as_uint64(), None]
    if kind in (metric.ValueKind_DOUBLE, metric.ValueKind_FLOAT):
        value = metric.as_double()
        return [name, metric.unit(), value if math.isfinite(value) else None, None]
    return None


def _ranges(state: Any) -> list[str]:
    found = []
    for domain_id in state.domains() if state else ():
        domain = state.domain_by_id(domain_id)
        found += [f"{domain.name()}:{name}" for name in domain.push_pop_ranges()]
    return found


def _rule(library: Any, rule: dict[str, Any]) -> dict[str, Any]:
    message = rule.get("rule_message") or {}
    speedup = rule.get("speedup_estimation") or {}
    types = {int(getattr(library.MsgType, name)): text for name, text in _RULE_TYPES.items()}
    kinds = {int(library.SpeedupType.LOCAL): "local", int(library.SpeedupType.GLOBAL): "global"}
    return {
        "section": rule.get("section_identifier"),
        "rule": rule.get("rule_identifier"),
        "type": types.get(int(message.get("type", 0))),
        "text": message.get("message"),
        "speedup_type": kinds.get(int(speedup.get("type", -1))),
        "speedup": speedup.get("speedup"),
    }


if __name__ == "__main__":
    main(sys.argv[1])
