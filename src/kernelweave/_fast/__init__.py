"""Hot loops: free jitted functions, arrays in, arrays out.

Nothing here knows an object, an option or a string. Importing a module of this
package loads Numba, so the layers above import from here inside the functions
that need it.
"""

from typing import Any

from numba import njit

from .kept import checked

_COMMON: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy"}


def jit(function):
    """The one decorator: compiled once per machine, and free of the interpreter's lock.

    So plain threads can run blocks side by side (see `kernelweave.parallel`).
    """
    return checked(njit(**_COMMON)(function))


def jit_fastmath(function):
    """The same for loops whose sums may be reordered, so that they use vector units."""
    return checked(njit(**_COMMON, fastmath={"reassoc", "contract", "nsz", "nnan"})(function))
