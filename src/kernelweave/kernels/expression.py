"""Kernels as text: `parse` reads what `repr` prints, and never runs it."""

from __future__ import annotations

import ast
import difflib
import warnings
from typing import Any

from ..choices import name_of
from ..errors import InputError
from ..sequences import ALPHABETS, Alphabet
from .base import Kernel, add_all
from .precomputed import Function, Precomputed
from .values import MAX_TERMS, shown

#: Longest text that is read; a sum of 100,000 terms still fits.
MAX_LENGTH = 20_000_000
#: Most items of all the lists and arguments of one term, counted by commas before anything is read.
MAX_ITEMS = 100_000
#: Bits of the largest whole number that is read; what a parameter takes is far less.
MAX_BITS = 1024
#: What else is typed as a call.
OTHERS = {"Alphabet": Alphabet, "slice": slice}
_METHODS = ("on", "part", "normalized", "standardized", "if_missing", "split", "only")


def parse(text: str, matrices: dict[str, Any] | None = None) -> Kernel:
    """Read a kernel expression, as `repr` prints it.

    Only kernel names, numbers, strings, lists, `+`, `*`, `.on(...)`, `.normalized()`, `.standardized()`,
    `.if_missing(...)` and `.split(...)` are understood: the text is walked as a syntax tree and never evaluated. A text
    has at most 20,000,000 characters and 100,000 terms, each with at most 100,000 numbers or names in lists.

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
    return add_all([_summand(part, matrices or {}) for part in _summands(text)])


def _summand(text: str, matrices: dict[str, Any]) -> Kernel:
    """Read one summand."""
    if (items := text.count(",") + 1) > MAX_ITEMS:
        raise InputError(f"The kernel {_short(text)} lists {items:,} items; a term has at most {MAX_ITEMS:,}.")
    try:
        kernel = _Reader(text, matrices).read(_tree(text))
    except (RecursionError, MemoryError):
        raise InputError(f"The kernel {_short(text)} is nested too deeply to read.") from None
    if not isinstance(kernel, Kernel):
        raise InputError(f"{_short(text)} is not a kernel. Try one of {', '.join(sorted(_names()))}.")
    return kernel


def _tree(text: str) -> ast.expr:
    """Return the syntax tree, or say why there is none."""
    try:
        if "\\" not in text:
            return ast.parse(text, mode="eval").body
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a backslash that escapes nothing is a mistake
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise InputError(f"Cannot read the kernel {_short(text)}: {error.msg}.") from None
    except (ValueError, Warning) as error:  # NUL, or halves of characters
        why = "it holds half a character" if isinstance(error, UnicodeError) else str(error)
        raise InputError(f"Cannot read the kernel {_short(text)}: {why}.") from None


def _summands(text: str) -> list[str]:
    """Cut at the top-level `+`: Python's own parser nests a sum, and gives up on a long one."""
    parts, start, depth, quote, escaped = [], 0, 0, "", False
    for position, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote and not escaped else quote
            escaped = letter == "\\" and not escaped
        elif letter in "'\"":
            quote = letter
        elif letter == "#":
            raise InputError(f"Comments are not read in a kernel; leave out {_short(text[position:])}.")
        elif letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        elif letter == "+" and depth == 0 and text[position - 1 : position] not in ("e", "E"):
            parts.append(text[start:position].strip())
            start = position + 1
            if len(parts) >= MAX_TERMS:
                raise InputError(f"The kernel expression has more than {MAX_TERMS:,} terms, which is the limit.")
    return [*parts, text[start:].strip()]


def _short(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def as_kernel(kernel: Any) -> Kernel:
    """Accept a kernel, its text, a list of kernels (their sum), or a plain function f(X, Y)."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return parse("Auto()" if kernel == "auto" else kernel)
    if isinstance(kernel, (list, tuple)) and kernel:
        if len(kernel) > MAX_TERMS:
            raise InputError(f"kernel lists {len(kernel):,} terms; at most {MAX_TERMS:,} are taken.")
        return add_all([as_kernel(part) for part in kernel])
    if isinstance(kernel, type) and issubclass(kernel, Kernel):
        raise InputError(f"kernel is the class {kernel.__name__}; call it: {kernel.__name__}(...).")
    if callable(kernel):
        return Function(kernel)
    raise InputError(f"kernel must be a kernel such as RBF(0.5), its text, or a function f(X, Y); got {shown(kernel)}.")


def _names() -> dict[str, Any]:
    from . import KERNELS, WRAPPERS

    return {kind.__name__: kind for kind in KERNELS} | {name_of(make): make for make in WRAPPERS} | OTHERS


def _factor(value: Any) -> type:
    """Return what a factor of a product is: `Kernel`, `float` for any number, or something else."""
    if isinstance(value, Kernel):
        return Kernel
    return float if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value)


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
            return self._constant(node, node.value)
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

    def _constant(self, node: ast.expr, value: Any) -> Any:
        if isinstance(value, int) and value.bit_length() > MAX_BITS:
            raise self._error(node, f"{shown(value)} is larger than any that is read")
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise self._error(node, "half a character (a lone surrogate) names nothing")
        return value

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
            kinds = {_factor(terms[-1]), _factor(other)}
            if Kernel not in kinds or not kinds <= {Kernel, float}:
                raise self._error(node, "a product is made of kernels, or of a kernel and a number")
            terms[-1] = terms[-1] * other
        if len(terms) > 1 and not all(isinstance(term, Kernel) for term in terms):
            raise self._error(node, "only kernels can be added")
        return terms[0] if len(terms) == 1 else add_all(terms)

    def _call(self, node: ast.Call) -> Any:
        args = [self.read(a) for a in node.args]
        if any(k.arg is None for k in node.keywords):
            raise self._error(node, "** is not understood")
        kwargs = {str(k.arg): self.read(k.value) for k in node.keywords}
        if len(kwargs) < len(node.keywords):
            twice = next(k.arg for i, k in enumerate(node.keywords) if k.arg in {o.arg for o in node.keywords[:i]})
            raise self._error(node, f"{twice} is given twice")
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
        except InputError:
            raise
        except (TypeError, AttributeError, ValueError, ArithmeticError, LookupError) as error:
            raise self._error(node, str(error)) from None

    def _method(self, owner: Any, func: ast.Attribute) -> Any:
        if not isinstance(owner, Kernel) or func.attr not in _METHODS or not hasattr(owner, func.attr):
            can = ", ".join(f".{name}" for name in _METHODS)
            raise self._error(func, f".{func.attr} is not something a kernel can do; there are {can}")
        return getattr(owner, func.attr)

    def _precomputed(self, args: list[Any], kwargs: dict[str, Any]) -> Precomputed:
        if args or set(kwargs) - {"name", "psd"}:
            raise InputError("In text, a matrix is named: Precomputed(name='expression').")
        if not isinstance(kwargs.get("name", ""), (str, type(None))):
            raise InputError(f"A matrix is named by a text, name='expression'; got name={shown(kwargs['name'])}.")
        return Precomputed(self.matrices.get(kwargs.get("name", "")), **kwargs)

    def _unknown(self, name: str) -> InputError:
        near = difflib.get_close_matches(name, self.names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(self.names))}."
        return InputError(f"There is no kernel {name!r}: {hint}")

    def _error(self, node: ast.expr, why: str) -> InputError:
        part = ast.get_source_segment(self.text, node) or self.text
        return InputError(f"Cannot read {part[:80]!r} in the kernel expression: {why}.")
