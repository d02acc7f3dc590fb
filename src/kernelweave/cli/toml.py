"""A small writer of TOML; Python reads it by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


def dumps(tables: Mapping[str, Mapping[str, Any]], comment: str = "") -> str:
    """Return tables of names and values as TOML; values that are None are left out.

    Examples
    --------
    >>> print(dumps({"fit": {"files": ["a.fa", "b.fa"], "C": 1.0, "seed": None}}))
    [fit]
    files = ["a.fa", "b.fa"]
    C = 1.0
    <BLANKLINE>
    """
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    for name, table in tables.items():
        lines += ["", f"[{_key(name)}]"]
        lines += [f"{_key(key)} = {_value(value)}" for key, value in table.items() if value is not None]
    return "\n".join(lines).lstrip("\n") + "\n"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)  # also inf and nan, which TOML writes as Python does
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + " }"
    raise TypeError(f"TOML has no place for a {type(value).__name__}.")


def _text(value: str) -> str:
    signs = (
        _ESCAPES.get(sign) or (f"\\u{ord(sign):04x}" if ord(sign) < 32 or sign == "\x7f" else sign) for sign in value
    )
    return f'"{"".join(signs)}"'
