"""One cluster of two processes for all tests of this folder."""

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
