"""A fault is told in one line, whatever is in it."""

from pipeline.errors import UserError


def test_a_hostile_name_neither_breaks_the_line_nor_steers_the_terminal() -> None:
    fault = UserError("a\nb\x1b[31m\u202e", "no such run", "see c")
    assert str(fault) == "a b\\x1b[31m\\u202e: no such run; see c"
