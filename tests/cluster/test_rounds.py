"""A round without any cluster: answers in any order, twice, late, of other rounds, or never."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kernelweave.cluster import Ask, Round, place
from kernelweave.cluster.rounds import TIMES
from kernelweave.testing.engines import described_shards


class RoundMachine(RuleBasedStateMachine):
    """Rows 5 and 6: whatever comes back, every shard gets one answer, of this round, to something that was asked."""

    def __init__(self):
        super().__init__()
        self.now, self.round = 0.0, Round(3, 4, patience=10.0)
        self.asked, self.counted = [], []
        for number in range(4):
            self.asked.append(self.round.ask(number, self.now))

    @rule(seconds=st.floats(0.0, 30.0))
    def time_passes(self, seconds):
        self.now += seconds

    @rule()
    def late_ones_are_asked_again(self):
        for number in self.round.late(self.now):
            self.asked.append(self.round.ask(number, self.now))

    @rule(data=st.data())
    def an_answer_comes_perhaps_again(self, data):
        ask = data.draw(st.sampled_from(self.asked))
        if self.round.take(ask, self.now):
            self.counted.append(ask.number)

    @rule(number=st.integers(0, 3), version=st.sampled_from([1, 2, 4]))
    def an_answer_of_another_round_is_dropped(self, number, version):
        assert not self.round.take(Ask(version, number, 1), self.now)

    @rule(number=st.integers(0, 3))
    def an_answer_to_nothing_is_dropped(self, number):
        assert not self.round.take(Ask(3, number, 99), self.now)

    @precondition(lambda self: self.round.done)
    @rule()
    def nothing_is_late_in_the_end(self):
        assert self.round.late(self.now + 1e9) == []

    @invariant()
    def every_shard_counts_once(self):
        assert sorted(self.counted) == sorted(set(self.counted))
        assert set(self.counted) == set(range(4)) - set(self.round.open)
        assert len(set(self.asked)) == len(self.asked), "two tries have one name"


TestRound = RoundMachine.TestCase
TestRound.settings = settings(max_examples=40, stateful_step_count=25)


def test_rows_5_6_the_first_answer_of_this_round_counts_once():
    one = Round(7, 2, patience=10.0)
    first, other = one.ask(0, 0.0), one.ask(1, 0.0)
    again = one.ask(0, 11.0)
    assert not one.take(Ask(6, 0, 1), 12.0), "it is of an older round"
    assert one.take(again, 12.0)
    assert not one.take(first, 13.0), "it is late: another try has answered"
    assert not one.take(again, 13.0), "it is there twice"
    assert one.take(other, 14.0)
    assert one.done


def test_a_shard_is_late_after_the_patience_or_five_medians():
    one = Round(1, 4, patience=10.0)
    asks = [one.ask(number, 0.0) for number in range(4)]
    assert one.late(10.0) == []
    assert one.late(10.1) == [0, 1, 2, 3]
    for ask, took in zip(asks, (3.0, 4.0, 5.0), strict=False):
        assert one.take(ask, took)
    assert one.deadline(3) == TIMES * 4.0
    assert one.late(19.9) == []
    assert one.late(20.1) == [3]
    one.ask(3, 20.1)
    assert one.late(20.1 + 39.0) == [], "it has twice the time at the second try"


@given(st.integers(1, 40), st.lists(st.integers(1, 3), min_size=1, max_size=6))
def test_no_worker_gets_more_than_its_share(n, threads):
    workers = {f"tcp://host:{i}": k for i, k in enumerate(threads)}
    chosen = place(described_shards(n), workers)
    for worker, k in workers.items():
        assert chosen.count(worker) <= np.ceil(n * k / sum(threads))
    assert chosen == place(described_shards(n), workers), "the same shards stay where they are"


def test_when_a_worker_goes_most_shards_stay_where_they_are():
    shards, four = described_shards(400), {f"w{i}": 1 for i in range(4)}
    three = dict.fromkeys(list(four)[:3], 1)
    before, after = place(shards, four), place(shards, three)
    stayed = sum(a == b for a, b in zip(before, after, strict=True) if a in three)
    assert stayed > 0.75 * sum(a in three for a in before)


@pytest.mark.parametrize("version", [1, 2])
def test_a_round_without_shards_is_done(version):
    assert Round(version, 0).done
