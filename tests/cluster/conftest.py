"""One cluster of two processes for all tests of this folder."""

import builtins
import os

import pytest


@pytest.fixture(scope="session")
def client():
    pytest.importorskip("distributed")
    from local_cluster import two_workers

    with two_workers() as found:
        yield found


@pytest.fixture
def workers(client):
    from local_cluster import Workers

    found = Workers(client)
    found.wait()
    yield found
    found.wait()


@pytest.fixture
def hide(monkeypatch):
    """Return a function that hides a folder from this process: no file in it can be opened any more."""
    hidden, plain, exists = [], builtins.open, os.path.exists

    def is_hidden(file):
        return not isinstance(file, int) and any(os.path.abspath(file).startswith(folder) for folder in hidden)

    def refuse(file, *args, **kwargs):
        if is_hidden(file):
            raise FileNotFoundError(2, "No such file or directory", os.fspath(file))
        return plain(file, *args, **kwargs)

    monkeypatch.setattr(builtins, "open", refuse)
    monkeypatch.setattr(os.path, "exists", lambda file: not is_hidden(file) and exists(file))
    return lambda folder: hidden.append(os.fspath(folder))
