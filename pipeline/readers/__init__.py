"""Readers: one module per format, tried in this order.

A reader has ``FORMAT``, ``SUFFIXES``, ``recognise(head)`` and ``read(path, name, pieces)``;
see :mod:`pipeline.readers.nsys` for what each does and raises.
"""

from __future__ import annotations

from pipeline.readers import nsys

READERS = (nsys,)

__all__ = ["READERS"]
