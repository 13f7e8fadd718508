"""Writes a job's run.toml: its description is what run.toml says, beside a title."""

from datetime import datetime
from pathlib import Path
from typing import Any


def write(description: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Writes `folder`/run.toml; returns the truth it contains."""
    folder.mkdir(parents=True, exist_ok=True)
    said = {name: keys for name, keys in description.items() if name != "title"}
    hosts = said.get("hosts", {})
    lines = [f"# {description['title']}"]
    for section, keys in said.items():
        tables = {f"hosts.{host}": told for host, told in keys.items()}
        for name, table in (tables if section == "hosts" else {section: keys}).items():
            lines += ["", f"[{name}]"]
            lines += [f"{key} = {_toml(value)}" for key, value in table.items()]
    (folder / "run.toml").write_text("\n".join([*lines, ""]), encoding="utf-8")
    facts = {
        f"{section}.{key}": _plain(value)
        for section, keys in said.items()
        if section != "hosts"
        for key, value in keys.items()
    }
    return {"title": description["title"], "facts": facts, "hosts": hosts}


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat().replace("+00:00", "Z") if isinstance(value, datetime) else str(value)
