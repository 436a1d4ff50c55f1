"""The lock of machine code does what `threading.RLock` does."""

from __future__ import annotations

import threading
import time

import pytest

import crossbandit
from crossbandit.core.locks import Lock


def test_the_thread_that_holds_it_may_take_it_again() -> None:
    lock = Lock()
    with lock, lock:
        lock.acquire()
        lock.release()
    taken = []

    def take() -> None:
        lock.acquire()
        taken.append(True)

    other = threading.Thread(target=take)
    other.start()
    other.join(10)
    assert taken == [True]


def test_only_one_thread_holds_it() -> None:
    lock, inside, most = Lock(), [0], [0]

    def work() -> None:
        for _ in range(20):
            with lock, lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                time.sleep(1e-4)
                inside[0] -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert most == [1]


def test_another_thread_cannot_release_it() -> None:
    lock, caught = Lock(), []

    def release() -> None:
        try:
            lock.release()
        except RuntimeError as problem:
            caught.append(problem)

    with lock:
        other = threading.Thread(target=release)
        other.start()
        other.join()
    assert len(caught) == 1
    if crossbandit.compiled:
        with pytest.raises(RuntimeError, match="only a lock that it holds"):
            lock.release()
