"""Threads: as many as are asked for, within reason."""

from kernelweave.parallel import MAX_JOBS, blas_threads, count_cores, count_jobs, for_blocks


def test_threads_are_counted_as_scikit_learn_does():
    assert count_jobs(None) == 1
    assert count_jobs(-1) == count_cores()
    assert count_jobs(3) == 3
    assert count_jobs(0) == 1
    assert count_jobs(2**62) == max(MAX_JOBS, count_cores())


def test_blas_never_gets_more_threads_than_there_are_cores():
    from threadpoolctl import threadpool_info

    with blas_threads(2**20):
        found = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert found
    assert max(found) <= count_cores()


def test_blocks_do_not_depend_on_the_threads():
    for n_jobs in (1, 2, 7):
        seen = []
        for_blocks(lambda part, seen=seen: seen.append((part.start, part.stop)), 10, 3, n_jobs)
        assert sorted(seen) == [(0, 3), (3, 6), (6, 9), (9, 10)]
