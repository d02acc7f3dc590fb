"""Losses, norms and solvers as text: a name of a registry, with parameters where wanted; read, and never run.

``hinge``, ``epsilon_insensitive(epsilon=0.2)``, and what `repr` prints: ``EpsilonInsensitive(epsilon=0.2)``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from inspect import Parameter, Signature, signature
from typing import Any, TypeVar

from .errors import InputError

T = TypeVar("T")

#: Longest text that is read: one weight for each of 10,000 terms fits.
MAX_LENGTH = 300_000
#: Bits of the largest whole number that is read; what a parameter takes is far less.
MAX_BITS = 1024


def name_of(kind: Callable[..., Any]) -> str:
    """Return what a class of a registry is called in text: its `name`, or that of the class where it has none."""
    return str(getattr(kind, "name", "") or getattr(kind, "__name__", ""))


def from_text(text: Any, kinds: Iterable[type[T]], wanted: str, defaults: Mapping[str, Any] | None = None) -> T:
    """Return the instance that a text stands for.

    Parameters
    ----------
    text : str
        A name, or a name with parameters that are numbers, strings, True, False, None, or lists of these.
    kinds : classes
        The registry, or what of it fits.
    wanted : str
        What would work, for messages: "loss must be one of ... or a Loss".
    defaults : dict, optional
        Parameters for classes that have them, unless the text gives others.
    """
    known: dict[str, type[T]] = {}
    for kind in kinds:
        known |= {kind.__name__: kind, name_of(kind): kind}
    name, args, given = _call_of(text, wanted)
    if name not in known:
        raise InputError(f"{wanted}; got {_short(text)}.")
    chosen: Any = known[name]
    call = _signature_of(chosen)
    parameters = call.parameters
    try:
        bound = call.bind(*args, **given).arguments
    except TypeError as error:
        takes = ", ".join(parameters) or "no parameters"
        raise InputError(f"Cannot read {_short(text)}: {error}. {name} takes {takes}.") from None
    for key, value in bound.items():
        _check_like(value, parameters[key], f"{key} of {name}")
    missing = {key: value for key, value in (defaults or {}).items() if key in parameters and key not in bound}
    return known[name](*args, **given, **missing)


@lru_cache(maxsize=256)
def _signature_of(kind: Callable[..., Any]) -> Signature:
    """Return what a class takes: reading that takes as long as a small fit, and every fit asks several times."""
    return signature(kind)


def _call_of(text: Any, wanted: str) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the name and the parameters that a text holds."""
    if not isinstance(text, str) or len(text) > MAX_LENGTH:
        raise InputError(f"{wanted}; got {_short(text)}.")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(f"{wanted}; got {_short(text)}.") from None
    if isinstance(node, ast.Name):
        return node.id, [], {}
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise InputError(f"{wanted}; got {_short(text)}. Parameters are typed as in 'name(parameter=1)'.")
    given = {str(keyword.arg): _value(keyword.value, text) for keyword in node.keywords if keyword.arg is not None}
    if len(given) < len(node.keywords):
        raise InputError(f"Cannot read {_short(text)}: each parameter is given once, by its name.")
    return node.func.id, [_value(item, text) for item in node.args], given


def _value(node: ast.expr, text: str) -> Any:
    """Return a plain value; anything that would have to be run is refused."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(item, text) for item in node.elts]
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    value = node.value if isinstance(node, ast.Constant) else ...
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise InputError(f"Cannot read {_short(text)}: a number in it is larger than any that is read.")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return sign * value
    if sign > 0 and (value is None or isinstance(value, (str, bool))):
        return value
    raise InputError(
        f"Cannot read {_short(text)}: parameters are numbers, strings, True, False, None, or lists of these."
    )


def _check_like(value: Any, parameter: Parameter, what: str) -> None:
    """Refuse a value of another type than the default has."""
    kinds = {bool: "a truth value", int: "a whole number", float: "a number", str: "text"}
    kind = type(parameter.default)
    if kind in kinds and type(value) not in ((int, float) if kind is float else (kind,)):
        raise InputError(f"{what} must be {kinds[kind]} such as {parameter.default!r}; got {value!r}.")


def _short(text: Any) -> str:
    shown = repr(text)
    return shown if len(shown) <= 80 else shown[:77] + "..."
