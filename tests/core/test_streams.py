"""Randomness by name."""

import numpy as np
import pytest

from crossbandit.core.streams import Seed, fixed, stream
from crossbandit.core.uniforms import Uniforms


def draws(seed: Seed, name: str) -> list[float]:
    return [float(number) for number in stream(seed, name).random(5)]


@pytest.mark.parametrize("seed", [0, 7, 2**80, np.random.SeedSequence(7)])
def test_a_stream_depends_on_seed_and_name_alone(seed: Seed) -> None:
    assert draws(seed, "contexts") == draws(seed, "contexts")
    assert draws(seed, "contexts") != draws(seed, "learner")
    assert draws(seed, "contexts") != draws(1, "contexts")


def test_a_sequence_is_its_entropy_and_its_place() -> None:
    assert draws(7, "learner") == draws(np.random.SeedSequence(7), "learner")
    seeds: list[Seed] = [7, *np.random.SeedSequence(7).spawn(2)]
    assert len({tuple(draws(seed, "learner")) for seed in seeds}) == 3


def test_a_stream_is_not_a_child_that_a_user_could_spawn() -> None:
    """Spawned seeds and named streams must not coincide."""
    root = np.random.SeedSequence(7)
    spawned = {tuple(np.random.default_rng(s).random(5)) for s in root.spawn(100)}
    assert tuple(draws(7, "contexts")) not in spawned


def test_a_generator_gives_a_new_stream_each_time() -> None:
    generator = np.random.default_rng(7)
    assert draws(generator, "learner") != draws(generator, "learner")
    assert draws(np.random.default_rng(7), "a") == draws(np.random.default_rng(7), "a")


def test_a_seed_can_be_fixed_for_several_streams() -> None:
    root = fixed(np.random.default_rng(7))
    assert draws(root, "contexts") == draws(root, "contexts")
    assert fixed(root) is root


def test_names_that_begin_alike_have_different_streams() -> None:
    names = ("contexts", "contexts of losses", "c")
    assert len({stream(7, name).random() for name in names}) == len(names)


@pytest.mark.parametrize("active", [[True] * 3, [True, False, True], [False] * 3, []])
def test_active_rounds_take_the_next_numbers(active: list[bool]) -> None:
    uniforms, generator = Uniforms(np.random.default_rng(5)), np.random.default_rng(5)
    expected = [[*generator.random(2)] if one else [0.0, 0.0] for one in active]
    found = uniforms.rows(np.array(active, dtype=bool), 2)
    np.testing.assert_array_equal(found, np.reshape(expected, (len(active), 2)))
    assert uniforms.take(1)[0] == generator.random()
