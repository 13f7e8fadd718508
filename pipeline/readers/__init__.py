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

from pipeline.readers import nsys

READERS = (nsys,)

__all__ = ["READERS"]
