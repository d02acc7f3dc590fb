"""Threads: as many as are asked for, within reason."""

import os
import subprocess
import sys

import pytest
from threadpoolctl import threadpool_info

from kernelweave import clock
from kernelweave.errors import TimeLimitError
from kernelweave.parallel import MAX_JOBS, blas_threads, count_cores, count_jobs, for_blocks


def test_threads_are_counted_as_scikit_learn_does():
    assert count_jobs(None) == 1
    assert count_jobs(-1) == count_cores()
    assert count_jobs(3) == 3
    assert count_jobs(0) == 1
    assert count_jobs(2**62) == max(MAX_JOBS, count_cores())


def test_blas_never_gets_more_threads_than_there_are_cores():
    with blas_threads(2**20):
        found = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert found
    assert max(found) <= count_cores()


def test_blocks_do_not_depend_on_the_threads():
    for n_jobs in (1, 2, 7):
        seen = []
        for_blocks(lambda part, seen=seen: seen.append((part.start, part.stop)), 10, 3, n_jobs)
        assert sorted(seen) == [(0, 3), (3, 6), (6, 9), (9, 10)]


def test_a_block_that_fails_ends_the_others():
    import threading

    done, both = [], threading.Barrier(2)

    def work(part):
        if part.start < 2:
            both.wait()  # the two threads have begun
        if part.start == 1:
            raise ValueError("block 1")
        done.append(part.start)

    with pytest.raises(ValueError, match="block 1"):
        for_blocks(work, 10_000, 1, 2)
    assert len(done) < 9_999


def test_blocks_inside_of_blocks_are_all_done():
    # the threads that help are few: where all of them wait for blocks of their own, whoever waits does these
    seen = []

    def outer(part):
        for_blocks(lambda inner: seen.append((part.start, inner.start)), 5, 1, 4)

    for_blocks(outer, 40, 1, 2 * MAX_JOBS)
    assert sorted(seen) == [(i, j) for i in range(40) for j in range(5)]


def test_threads_see_the_deadline_of_their_caller():
    with pytest.raises(TimeLimitError), clock.limited(0.0):
        for_blocks(lambda part: None, 100, 1, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")
def test_a_process_that_was_forked_off_has_threads_of_its_own():
    code = """
import os
from kernelweave.parallel import for_blocks
for_blocks(lambda part: None, 10, 1, 2)
child = os.fork()
if child == 0:
    seen = []
    for_blocks(lambda part: seen.append(part.start), 10, 1, 2)
    os._exit(0 if sorted(seen) == list(range(10)) else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", code], timeout=60).returncode == 0


def test_the_lowest_limit_on_blas_threads_holds_until_it_is_left():
    def found():
        return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

    before = found()
    with blas_threads(2):
        within = found()
        with blas_threads(1):
            assert found() == {1}
            with blas_threads(2):
                assert found() == {1}
        assert found() == within
    assert found() == before


def test_blocks_on_threads_leave_blas_one_thread():
    # or products inside of blocks would have other last bits than those of one thread
    seen = []
    for_blocks(
        lambda part: seen.append({pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}),
        4, 1, 2,
    )  # fmt: skip
    assert seen == [{1}] * 4
