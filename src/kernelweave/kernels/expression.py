"""Kernels as text: `parse` reads what `repr` prints, and never runs it."""

from __future__ import annotations

import ast
import difflib
from typing import Any

from ..errors import InputError
from ..sequences import ALPHABETS, Alphabet
from .base import Frozen, Kernel, add_all, per_feature
from .precomputed import Function, Precomputed

#: Longest text that is read; a sum of 100,000 terms still fits.
MAX_LENGTH = 20_000_000
_METHODS = ("on", "normalized", "split", "only")


def parse(text: str, matrices: dict[str, Any] | None = None) -> Kernel:
    """Read a kernel expression, as `repr` prints it.

    Only kernel names, numbers, strings, lists, `+`, `*`, `.on(...)`, `.normalized()` and
    `.split(...)` are understood: the text is walked as a syntax tree and never evaluated.

    Parameters
    ----------
    text : str
        For example ``"2.0 * RBF(gamma=0.5).on('age') + Linear()"``.
    matrices : dict of str to array, optional
        The matrices of `Precomputed(name=...)`.

    Examples
    --------
    >>> from kernelweave import parse
    >>> parse("RBF(0.5).on('age') + Linear()")
    RBF(gamma=0.5).on('age') + Linear()
    """
    if not isinstance(text, str):
        raise InputError(f"parse reads text; got {type(text).__name__}.")
    if len(text) > MAX_LENGTH:
        raise InputError(f"The kernel expression has {len(text):,} characters; at most {MAX_LENGTH:,} are read.")
    kernels = []
    for part in _summands(text):
        try:
            kernel = _Reader(part, matrices or {}).read(ast.parse(part, mode="eval").body)
        except SyntaxError as error:
            raise InputError(f"Cannot read the kernel {_short(part)}: {error.msg}.") from None
        except (RecursionError, MemoryError):
            raise InputError(f"The kernel {_short(part)} is nested too deeply to read.") from None
        if not isinstance(kernel, Kernel):
            raise InputError(f"{_short(part)} is not a kernel. Try one of {', '.join(sorted(_names()))}.")
        kernels.append(kernel)
    return add_all(kernels)


def _summands(text: str) -> list[str]:
    """Cut at the top-level `+`: Python's own parser nests a sum, and gives up on a long one."""
    parts, start, depth, quote, escaped = [], 0, 0, "", False
    for position, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote and not escaped else quote
            escaped = letter == "\\" and not escaped
        elif letter in "'\"":
            quote = letter
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "+" and depth == 0 and text[position - 1 : position] not in ("e", "E"):
            parts.append(text[start:position].strip())
            start = position + 1
    return [*parts, text[start:].strip()]


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def as_kernel(kernel: Any) -> Kernel:
    """Accept a kernel, its text, a list of kernels (their sum), or a plain function f(X, Y)."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return parse(kernel)
    if isinstance(kernel, (list, tuple)) and kernel:
        return add_all([as_kernel(part) for part in kernel])
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise InputError(f"kernel is the class {kernel.__name__}; call it: {kernel.__name__}(...).")
    if callable(kernel):
        return Function(kernel)
    raise InputError(f"kernel must be a kernel such as RBF(0.5), its text, or a function f(X, Y); got {kernel!r}.")


def _names() -> dict[str, Any]:
    from . import KERNELS

    others = {"Alphabet": Alphabet, "Frozen": Frozen, "per_feature": per_feature, "slice": slice}
    return {kind.__name__: kind for kind in KERNELS} | others


class _Reader:
    def __init__(self, text: str, matrices: dict[str, Any]) -> None:
        self.text = text
        self.matrices = matrices
        self.names = _names()

    def read(self, node: ast.expr) -> Any:
        if isinstance(node, ast.BinOp):
            return self._operator(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float, str, bool, type(None))):
            return node.value
        if isinstance(node, (ast.List, ast.Tuple)):
            return [self.read(e) for e in node.elts] if isinstance(node, ast.List) else tuple(map(self.read, node.elts))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            value = self.read(node.operand)
            if isinstance(value, (int, float)):
                return -value
        if isinstance(node, ast.Name):
            if node.id.lower() in ALPHABETS and node.id.isupper():
                return ALPHABETS[node.id.lower()]
            raise self._unknown(node.id)
        raise self._error(node, "only kernels, numbers, strings, lists, + and * are understood")

    def _operator(self, node: ast.BinOp) -> Any:
        # sums and products lean to the left, and may be long: walk down instead of recursing
        kinds: tuple[type[ast.operator], ...] = (ast.Add, ast.Mult)
        chain: list[tuple[ast.operator, ast.expr]] = []
        start: ast.expr = node
        while isinstance(start, ast.BinOp) and isinstance(start.op, kinds):
            chain.append((start.op, start.right))
            kinds = (ast.Mult,) if isinstance(start.op, ast.Mult) else kinds  # a sum inside a product is in brackets
            start = start.left
        if isinstance(start, ast.BinOp) and not isinstance(start.op, ast.Add):
            raise self._error(start, "only + and * join kernels")
        return self._joined(self.read(start), chain[::-1], node)

    def _joined(self, value: Any, chain: list[tuple[ast.operator, ast.expr]], node: ast.expr) -> Any:
        terms = [value]
        for op, right in chain:
            if isinstance(op, ast.Add):
                terms.append(self.read(right))
                continue
            other = self.read(right)
            if not (isinstance(terms[-1], Kernel) or isinstance(other, Kernel)):
                raise self._error(node, "a product needs at least one kernel")
            terms[-1] = terms[-1] * other
        if len(terms) > 1 and not all(isinstance(term, Kernel) for term in terms):
            raise self._error(node, "only kernels can be added")
        return terms[0] if len(terms) == 1 else add_all(terms)

    def _call(self, node: ast.Call) -> Any:
        args = [self.read(a) for a in node.args]
        if any(k.arg is None for k in node.keywords):
            raise self._error(node, "** is not understood")
        kwargs = {str(k.arg): self.read(k.value) for k in node.keywords}
        if isinstance(node.func, ast.Attribute):
            make = self._method(self.read(node.func.value), node.func)
        elif isinstance(node.func, ast.Name):
            if node.func.id not in self.names:
                raise self._unknown(node.func.id)
            make = self.names[node.func.id]
        else:
            raise self._error(node, "only kernels can be called")
        if make is Precomputed:
            return self._precomputed(args, kwargs)
        try:
            return make(*args, **kwargs)
        except (TypeError, AttributeError) as error:
            raise self._error(node, str(error)) from None

    def _method(self, owner: Any, func: ast.Attribute) -> Any:
        if not isinstance(owner, Kernel) or func.attr not in _METHODS or not hasattr(owner, func.attr):
            raise self._error(func, f".{func.attr} is not something a kernel can do; there are .on and .normalized")
        return getattr(owner, func.attr)

    def _precomputed(self, args: list[Any], kwargs: dict[str, Any]) -> Precomputed:
        if args or set(kwargs) - {"name", "psd"}:
            raise InputError("In text, a matrix is named: Precomputed(name='expression').")
        return Precomputed(self.matrices.get(kwargs.get("name", "")), **kwargs)

    def _unknown(self, name: str) -> InputError:
        near = difflib.get_close_matches(name, self.names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(self.names))}."
        return InputError(f"There is no kernel {name!r}: {hint}")

    def _error(self, node: ast.expr, why: str) -> InputError:
        part = ast.get_source_segment(self.text, node) or self.text
        return InputError(f"Cannot read {part[:80]!r} in the kernel expression: {why}.")
