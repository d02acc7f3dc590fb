"""Hot loops: free jitted functions, arrays in, arrays out.

Nothing here knows an object, an option or a string. Importing a module of this
package loads Numba, so the layers above import from here inside the functions
that need it.
"""

# `signal` itself takes ten times as long: it makes enumerations of all numbers
import _signal  # type: ignore[import-not-found]
from _thread import get_ident
from threading import main_thread

from numba import njit
from numba.core.registry import CPUDispatcher

from .kept import checked


class Compiled(CPUDispatcher):
    """A compiled function that finishes what it does before a request to stop is heard.

    Numba runs a little Python where it hands back arrays, and goes on with whatever that returned. A handler of Ctrl-C
    that raises there gives a SystemError, or a crash. So handlers wait until the call is over; while a function is
    compiled, which is plain Python, they do not. Signals reach the main thread only, so other threads need none of it.
    """

    def __call__(self, *args, **kws):
        if _waiting or get_ident() != main_thread().ident:
            return super().__call__(*args, **kws)
        try:
            _wait()
            return super().__call__(*args, **kws)
        finally:
            _hear()

    def _compile_for_args(self, *args, **kws):
        if not _waiting or get_ident() != main_thread().ident:
            return super()._compile_for_args(*args, **kws)  # type: ignore[misc]
        _hear()
        try:
            return super()._compile_for_args(*args, **kws)  # type: ignore[misc]
        finally:
            _wait()


#: The handlers of SIGINT and SIGTERM, while they wait in the main thread; and the signals that came meanwhile.
_waiting: list = []
_noted: list = []


def _wait():
    """Note requests to stop from here on."""
    _noted.clear()
    _waiting[:] = _signal.getsignal(_signal.SIGINT), _signal.getsignal(_signal.SIGTERM)
    if callable(_waiting[0]):
        _signal.signal(_signal.SIGINT, _note)
    if callable(_waiting[1]):
        _signal.signal(_signal.SIGTERM, _note)


def _note(*event):
    _noted.append(event)


def _hear():
    """Put the handlers back, and tell them of what came meanwhile."""
    if not _waiting:
        return
    interrupt, stop = _waiting
    try:  # a handler may raise as soon as it is back
        if callable(stop):
            _signal.signal(_signal.SIGTERM, stop)
    finally:
        _waiting.clear()
        if callable(interrupt):
            _signal.signal(_signal.SIGINT, interrupt)
    if _noted:
        event = _noted[0]
        _noted.clear()
        (interrupt if event[0] == _signal.SIGINT else stop)(*event)


def _decorator(**options):
    def decorate(function):
        compiled = checked(njit(cache=True, nogil=True, error_model="numpy", **options)(function))
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
