"""What all tests share: reproducible property tests, and quiet small data."""

import contextlib
import os
import signal

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# A runner started in the background ignores Ctrl-C, and so would all that is tested here.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("steady", derandomize=True, deadline=None, max_examples=60)
settings.register_profile(
    "explore", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow]
)  # HYPOTHESIS_PROFILE=explore pytest ...: new examples on every run
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def blobs():
    """Two overlapping classes of 60 samples in four dimensions."""
    rng = np.random.default_rng(7)
    y = np.where(rng.random(60) < 0.5, 1, -1)
    return rng.normal(size=(60, 4)) + 0.7 * y[:, None], y
