"""Requests to stop (Ctrl-C, SIGTERM) that wait until it is safe to hear them."""

# `signal` itself takes ten times as long: it makes enumerations of all numbers
import _signal  # type: ignore[import-not-found]
from _thread import get_ident
from threading import main_thread

#: The handlers of SIGINT and SIGTERM, while they wait in the main thread; and the signals that came meanwhile.
_waiting: list = []
_noted: list = []


def may_wait():
    """Say whether this is the main thread, which alone gets signals, and nobody waits already."""
    return not _waiting and get_ident() == main_thread().ident


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
        hear()
        wait()
