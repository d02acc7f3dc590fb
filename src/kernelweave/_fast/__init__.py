"""Hot loops: free jitted functions, arrays in, arrays out.

Nothing here knows an object, an option or a string. Importing a module of this
package loads Numba, so the layers above import from here inside the functions
that need it.
"""

from typing import Any

from . import interrupts

_alone = interrupts.may_wait()
if _alone:  # Numba fills its tables while it is imported, and half filled ones would stay so
    interrupts.wait()
try:
    from numba import njit
    from numba.core import event as event
    from numba.core.registry import CPUDispatcher

    from .kept import checked
finally:
    if _alone:
        interrupts.hear()


_run = CPUDispatcher.__call__


class Compiled(CPUDispatcher):
    """A compiled function that finishes what it does before a request to stop is heard.

    Numba runs a little Python where it hands back arrays, and goes on with whatever that returned. A handler of Ctrl-C
    that raises there gives a SystemError, or a crash. And one that raises while a function is read from its file may
    leave Numba's tables half filled, and no function can be compiled any more. So handlers wait until the call is over;
    while a function is compiled, which takes long, they are told between two passes of the compiler, where it may fail.
    """

    def __call__(self, *args, **kws):
        if interrupts.close_gate():
            try:
                return _run(self, *args, **kws)
            finally:
                interrupts.open_gate()
        if not interrupts.may_wait():
            return super().__call__(*args, **kws)
        try:
            interrupts.wait()
            return super().__call__(*args, **kws)
        finally:
            interrupts.hear()


class _Passes(event.Listener):
    """Hears of every pass of the compiler."""

    def on_start(self, event):
        interrupts.hear_now()

    def on_end(self, event):
        pass


event.register("numba:run_pass", _Passes())


#: Nobody calls these functions from C: the wrapper for it would be compiled for nothing.
_ALWAYS: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def _decorator(**options):
    def decorate(function):
        compiled = checked(njit(**_ALWAYS, **options)(function))
        compiled.__class__ = Compiled
        return compiled

    return decorate


#: The one decorator: compiled once per machine, and free of the interpreter's
#: lock, so that plain threads can run blocks side by side (see `kernelweave.parallel`).
jit = _decorator()

#: The same for loops whose sums may be reordered, so that they use vector units.
jit_fastmath = _decorator(fastmath={"reassoc", "contract", "nsz", "nnan"})

#: The same where sums keep their order, but a product may be fused with the sum that it is part of.
jit_fused = _decorator(fastmath={"contract", "nnan"})

#: The same where quotients may be a few last bits off, too: for numbers that only choose.
jit_rough = _decorator(fastmath={"reassoc", "contract", "nsz", "nnan", "ninf", "arcp", "afn"})
