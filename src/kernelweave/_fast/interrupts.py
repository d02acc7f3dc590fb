"""Requests to stop (Ctrl-C, SIGTERM) that wait until it is safe to hear them."""

# `signal` itself takes ten times as long: it makes enumerations of all numbers
import _signal  # type: ignore[import-not-found]
from _thread import get_ident
from contextlib import contextmanager
from threading import main_thread

#: The handlers of SIGINT and SIGTERM, while they wait in the main thread; and the signals that came meanwhile.
_waiting: list = []
_noted: list = []
#: The handlers that `_at_the_gate` stands for, by signal; and whether they wait now.
_gated: dict = {}
_gated_thread: list = [0]
_closed: list = []


def may_wait():
    """Say whether this is the main thread, which alone gets signals, and nobody waits already."""
    return not _waiting and not _closed and get_ident() == main_thread().ident


def wait():
    """Note requests to stop from here on."""
    _noted.clear()
    _waiting[:] = _signal.getsignal(_signal.SIGINT), _signal.getsignal(_signal.SIGTERM)
    if callable(_waiting[0]):
        _signal.signal(_signal.SIGINT, _note)
    if callable(_waiting[1]):
        _signal.signal(_signal.SIGTERM, _note)


def _note(*event):
    _noted.append(event)


def hear():
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


def hear_now():
    """Tell the handlers of what came so far, and go on waiting."""
    if _noted and get_ident() == main_thread().ident:
        if _closed:
            open_gate()
            close_gate()
        else:
            hear()
            wait()


@contextmanager
def gated():
    """Put one handler in place for many short waits: each of them costs a part of what it costs alone.

    It passes requests on at once, but for those that come between `close_gate` and `open_gate`.
    """
    if _gated or not may_wait():
        yield
        return
    before = {number: _signal.getsignal(number) for number in (_signal.SIGINT, _signal.SIGTERM)}
    _gated_thread[0] = get_ident()
    _gated.update((number, handler) for number, handler in before.items() if callable(handler))
    try:
        for number in list(_gated):
            _signal.signal(number, _at_the_gate)
        yield
    finally:
        for number, handler in list(_gated.items()):
            if _signal.getsignal(number) is _at_the_gate:  # or somebody else is there by now
                _signal.signal(number, handler)
        _gated.clear()


def _at_the_gate(*event):
    if _closed:
        _noted.append(event)
    else:
        _pass_on(event)


def _pass_on(event):
    # whoever put this handler back after the gate was gone gets what Python does by itself
    _gated.get(event[0], _signal.default_int_handler)(*event)


def close_gate():
    """Note requests to stop from here on, and say so; False where the gate is not there, or not for this thread."""
    if not _gated or _closed or get_ident() != _gated_thread[0]:
        return False
    for number in _gated:
        if _signal.getsignal(number) is not _at_the_gate:  # somebody put a handler in its place
            return False
    _closed.append(True)
    return True


def open_gate():
    """Tell the handlers of what came meanwhile, and of what comes."""
    _closed.clear()
    if _noted:
        event = _noted[0]
        _noted.clear()
        _pass_on(event)
