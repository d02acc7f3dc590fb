"""Memory as a budget: how much there is, how much a piece of work takes."""

from __future__ import annotations

import os
import re

from .errors import InputError

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}


def budget_bytes(memory: str | int | float | None) -> int:
    """Return a memory budget in bytes: "2GB", a number of bytes, or None for half of what is free."""
    if memory is None:
        return available_bytes() // 2
    if isinstance(memory, str):
        match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*", memory)
        if match and match[2].upper() in _UNITS and len(match[1]) < 300:
            return int(float(match[1]) * _UNITS[match[2].upper()])
    elif isinstance(memory, (int, float)) and 0 < memory < float("inf"):
        return int(memory)
    raise InputError(f'memory must be like "2GB", a number of bytes, or None; got {memory!r}.')


def available_bytes() -> int:
    """Return how much memory could be taken now, or 4 GB where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):
        return 4 * 10**9


def readable(n_bytes: float) -> str:
    """Print a size for people: 1.5 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.3g} TB"
