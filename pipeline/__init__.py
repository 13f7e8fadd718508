"""tracelake: offline trace analysis for large-model training jobs.

The command line is ``tracelake``; from Python, :func:`open_store` gives a DuckDB
connection in which every table and view of a store can be queried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable

    import duckdb

__version__ = "0.1.0"


def open_store(
    path: str | os.PathLike[str], asked: Iterable[str] | None = None
) -> duckdb.DuckDBPyConnection:
    """A DuckDB connection with every table and view of the store at ``path``.

    ``asked`` are the tables and views about to be asked: they and what they read are there,
    nothing else, and what they come to more than once is computed here, once. Deep ones
    (``finding``, ``wall``, ``straggler``, ``what_if``) are slow without.

    Reading only: nothing done through the connection changes the store.
    Raises :class:`pipeline.errors.UserError` when ``path`` is no store.
    """
    from pipeline.store import Store

    return Store.open(path).connect(asked=asked)


__all__ = ["__version__", "open_store"]
