"""Values as JSON and back: what a parameter or a fitted attribute may be, and nothing that runs.

None, booleans, whole numbers, finite numbers, strings and lists are themselves. Everything else is an object that says
what it is: ``{"number": "inf"}``, ``{"tuple": [...]}``, ``{"dict": {...}}`` (or a list of pairs, where keys are not
strings), ``{"array": "float64", "values": [...]}``, and ``{"made": "LpNorm", "with": {"p": 2.0}}`` for a few classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import numpy as np

from ..errors import InputError, ModelFormatError
from ..kernels.values import same_value

#: Types of arrays that are written; "str" is as wide as its longest string.
DTYPES = frozenset(f"{kind}{bits}" for kind in ("int", "uint", "float") for bits in (8, 16, 32, 64))
DTYPES = DTYPES - {"float8"} | {"bool", "str", "object"}
#: Most characters that all arrays of strings may take, each string being as wide as the longest of its array.
MAX_CHARACTERS = 10_000_000
_STRANGE = ("inf", "-inf", "nan")

Kinds = Mapping[str, type]


def damaged(why: str) -> ModelFormatError:
    """Return the error for a file that is not what was written; who knows the file puts its name in front."""
    return ModelFormatError(f"is damaged: {why}.")


def encode(value: Any, name: str, kinds: Kinds) -> Any:
    """Return a value as JSON has it, or say what of `name` cannot be kept."""
    if value is None or isinstance(value, (bool, str, int)):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"number": repr(float(value))}
    if isinstance(value, np.generic):
        return encode(value.item(), name, kinds)
    if isinstance(value, list):
        return [encode(item, name, kinds) for item in value]
    if isinstance(value, tuple):
        return {"tuple": [encode(item, name, kinds) for item in value]}
    if isinstance(value, dict):
        items = [(encode(key, name, kinds), encode(item, name, kinds)) for key, item in value.items()]
        return {"dict": dict(items) if all(isinstance(key, str) for key in value) else list(map(list, items))}
    if isinstance(value, np.ndarray):
        return _encode_array(value, name, kinds)
    if kinds.get(type(value).__name__) is type(value):
        return _encode_made(value, name, kinds)
    raise InputError(
        f"{name} is {value!r}, which cannot be kept in a model file: a file holds numbers, strings, lists of them and "
        f"the library's own {', '.join(sorted(kinds))}. Set it to one of these before saving, or pickle the model."
    )


def _encode_array(value: np.ndarray, name: str, kinds: Kinds) -> Any:
    dtype = "str" if value.dtype.kind == "U" else value.dtype.name
    if dtype not in DTYPES or value.ndim not in (1, 2):
        raise InputError(
            f"{name} is an array of {value.dtype} values, {value.ndim}-dimensional; a model file keeps vectors and "
            "matrices of numbers, booleans or strings."
        )
    return {"array": dtype, "values": encode(value.tolist(), name, kinds)}


def _encode_made(value: Any, name: str, kinds: Kinds) -> Any:
    given = {key: getattr(value, key, None) for key in signature(type(value)).parameters}
    if not _same_attributes(vars(type(value)(**given)), vars(value)):
        raise InputError(f"{name} is {value!r}, which was changed since it was made; make it anew before saving.")
    return {"made": type(value).__name__, "with": {key: encode(item, name, kinds) for key, item in given.items()}}


def _same_attributes(a: dict[str, Any], b: dict[str, Any]) -> bool:
    def like(x: Any, y: Any) -> bool:
        return same_value(x, y) or (
            hasattr(x, "__dict__") and type(x) is type(y) and _same_attributes(vars(x), vars(y))
        )

    return a.keys() == b.keys() and all(like(a[key], b[key]) for key in a)


def decode(node: Any, kinds: Kinds) -> Any:
    """Return the value that `encode` wrote."""
    if node is None or isinstance(node, (bool, str, int, float)):
        return node
    if isinstance(node, list):
        return [decode(item, kinds) for item in node]
    tags = tuple(node)
    if tags == ("number",) and str(node["number"]) in _STRANGE:
        return float(node["number"])
    if tags == ("tuple",) and isinstance(node["tuple"], list):
        return tuple(decode(item, kinds) for item in node["tuple"])
    if tags == ("dict",) and isinstance(node["dict"], (list, dict)):
        pairs = list(map(list, node["dict"].items())) if isinstance(node["dict"], dict) else node["dict"]
        return _decode_dict(pairs, kinds)
    if (
        tags == ("array", "values")
        and isinstance(node["array"], str)
        and node["array"] in DTYPES
        and isinstance(node["values"], list)
    ):
        return _decode_array(node["array"], node["values"], kinds)
    if tags == ("made", "with") and isinstance(node["with"], dict) and str(node["made"]) in kinds:
        given = {key: decode(item, kinds) for key, item in node["with"].items()}
        return _built(lambda: kinds[str(node["made"])](**given))
    raise damaged(f"{str(node)[:80]} is not a value that a model file holds")


def _decode_dict(pairs: list[Any], kinds: Kinds) -> dict[Any, Any]:
    out: dict[Any, Any] = {}
    for pair in pairs:
        if not (isinstance(pair, list) and len(pair) == 2) or isinstance(pair[0], (list, dict)) or pair[0] in out:
            raise damaged(f"{str(pair)[:80]} is not a key that comes once with its value")
        out[pair[0]] = decode(pair[1], kinds)
    return out


def _decode_array(dtype: str, values: list[Any], kinds: Kinds) -> np.ndarray:
    if dtype == "object":
        out = np.empty(len(values), dtype=object)
        out[:] = [decode(value, kinds) for value in values]
        return out
    if dtype == "str":
        if not all(isinstance(value, str) for value in values):
            raise damaged("an array of strings holds something else")
        if len(values) * max(map(len, values), default=0) > MAX_CHARACTERS:
            raise damaged("an array of strings is too large")
        return np.array(values, dtype=np.str_)
    plain = [decode(value, kinds) for value in values]
    out = _built(lambda: np.array(plain))
    if out.size == 0:
        return out.astype(dtype)
    if out.dtype.kind not in "biuf" or out.ndim > 2:
        raise damaged(f"an array of {dtype} holds something else")
    cast = _built(lambda: np.array(plain, dtype=dtype))
    if not np.array_equal(cast, out, equal_nan=True):
        raise damaged(f"an array of {dtype} holds numbers that do not fit into it")
    return cast


def characters(node: Any) -> int:
    """Return how many characters the arrays of strings inside a node take once they are arrays."""
    if isinstance(node, list):
        return sum(map(characters, node))
    if not isinstance(node, dict):
        return 0
    values = node.get("values")
    if node.get("array") == "str" and isinstance(values, list):
        return len(values) * max((len(value) for value in values if isinstance(value, str)), default=0)
    return sum(map(characters, node.values()))


def _built(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except (TypeError, ValueError, OverflowError) as error:
        raise damaged(str(error).rstrip(".")) from None


def fields(node: Any, where: str, **kinds: Any) -> list[Any]:
    """Return the entries of a JSON object, in the order of `kinds`: exactly these keys, of these types."""
    if not isinstance(node, dict):
        raise damaged(f"{where} is not an object")
    for key in node:
        if key not in kinds:
            raise damaged(f"{where} has an entry {key[:40]!r} that is not known")
    for key, kind in kinds.items():
        if key not in node:
            raise damaged(f"{where} has no entry {key!r}")
        allowed = kind if isinstance(kind, tuple) else (kind,)
        if not any(_is(node[key], one) for one in allowed):
            raise damaged(f"{key!r} of {where} is {str(node[key])[:40]!r}, of the wrong type")
    return [node[key] for key in kinds]


def _is(value: Any, kind: type) -> bool:
    if isinstance(value, bool):  # which is an int to Python, but not a count
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def grows(values: np.ndarray, *, strictly: bool = False) -> bool:
    """Say whether whole numbers are in order; compared, because their differences may be too large to tell."""
    return bool((values[1:] > values[:-1] if strictly else values[1:] >= values[:-1]).all())
