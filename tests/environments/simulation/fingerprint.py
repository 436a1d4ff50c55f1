"""Record what every registered algorithm plays on every shipped environment.

`python -m tests.environments.simulation.fingerprint FILE` writes a hash of the arms and the final
regret of each run as JSON: three seeds, the compiled and the plain route, the dense and the
factored form of losses, and both precisions.
`python -m tests.environments.simulation.fingerprint FILE --small` writes the part that
`test_fingerprint.py` compares. Run it before and after a change that must change nothing.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from crossbandit import Problem, graphs, simulate
from crossbandit.algorithms import Algorithm, from_json, registered
from crossbandit.environments import BlockEnvironment, from_coefficients, from_table
from crossbandit.environments import registered as registered_environments
from crossbandit.errors import CrossbanditError

# Constructor arguments of environments that need more than a horizon.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "paper-benchmark": {"alpha": 4, "contexts": 300},
    "paper-benchmark-zipf": {"alpha": 2, "contexts": 40},
    "congestion": {"graph": graphs.ring(4, 1)},
    "first-price": {"bids": 20},
    "lower-bound": {"graph": graphs.revealing_action(4), "contexts": 30},
    "misleading": {"graph": graphs.loopy_star(4)},
    "phases": {
        "graph": graphs.ring(3, 1),
        "phases": [(0.0, [0.2, 0.5, 0.5]), (0.3, [0.9, 0.4, 0.5])],
    },
    "sleeping": {"graph": graphs.ring(6, 2)},
    "stochastic": {"graph": graphs.paper_ring(6, 1), "contexts": 300},
    "switching": {"graph": graphs.loopless_clique(4), "contexts": 300},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "cross-graph": {"eta": 0.05, "gamma": 0.02, "rho": 0.1, "beta": 0.05, "epoch_length": 10},
    "cross-graph-adaptive": {"half_life": 90.0, "anchored": True},
}


def algorithms() -> Iterator[tuple[str, Algorithm]]:
    """Yield every registered algorithm, and those of `OPTIONS` a second time with options."""
    for name in sorted(registered()):
        if not registered()[name].__module__.startswith("crossbandit."):
            continue
        yield name, from_json({"id": name})
        if name in OPTIONS:
            yield f"{name} with options", from_json({"id": name, **OPTIONS[name]})


def environments(horizon: int) -> Iterator[tuple[str, BlockEnvironment]]:
    """Yield every registered environment, and tables of both loss forms."""
    for name, builder in sorted(registered_environments().items()):
        if builder.__module__.startswith("crossbandit."):
            yield name, builder(horizon=horizon, **ARGUMENTS.get(name, {}))
    rng = np.random.default_rng(0)
    graph = graphs.threshold(5)
    losses = rng.random((horizon, 7, 5))
    yield "table", from_table(losses, graph)
    yield "table in float32", single_precision(from_table(losses, graph))
    features = np.stack([np.ones(9), rng.random(9)], axis=1)
    yield "coefficients", from_coefficients(rng.random((horizon, 5, 2)) / 2, graph, features)


def single_precision(environment: Any) -> BlockEnvironment:
    """Let learners keep their estimates of dense losses in float32."""
    problem = environment.problem
    environment.problem = Problem(
        problem.graph, contexts=problem.contexts, horizon=problem.horizon, precision="float32"
    )
    return environment  # type: ignore[no-any-return]


def fingerprint(algorithm: Algorithm, environment: BlockEnvironment, **options: Any) -> list[Any]:
    """Return a hash of the arms and the final regret, or the name of the error that was raised."""
    try:
        run = simulate(algorithm, environment, show_progress=False, **options)
    except CrossbanditError as error:
        return [type(error).__name__]
    arms = hashlib.sha256(run.arms.astype("<i8").tobytes()).hexdigest()[:16]
    return [arms, round(run.final_regret, 9)]


ROUTES: dict[str, dict[str, Any]] = {
    "compiled": {"compiled": True},
    "compiled, dense": {"compiled": True, "factored": False},
    "plain": {"compiled": False},
    "plain, factored": {"compiled": False, "factored": True},
}


def full(horizon: int = 1200, plain: int = 600) -> dict[str, list[Any]]:
    """Return everything: minutes."""
    found = {}
    for route, options in ROUTES.items():
        rounds = horizon if options["compiled"] else plain
        for title, environment in environments(rounds):
            for name, algorithm in algorithms():
                for seed in range(3):
                    key = f"{name} | {title} | {route} | seed {seed}"
                    found[key] = fingerprint(algorithm, environment, seed=seed, **options)
    return found


def small() -> dict[str, list[Any]]:
    """Return a part that takes seconds: one seed, both routes."""
    return {
        f"{name} | {title} | {route}": fingerprint(
            algorithm, environment, seed=0, compiled=compiled
        )
        for route, compiled, horizon in (("compiled", True, 600), ("plain", False, 40))
        for title, environment in environments(horizon)
        for name, algorithm in algorithms()
    }


if __name__ == "__main__":
    record = small() if "--small" in sys.argv else full()
    lines = ",\n".join(f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in record.items())
    Path(sys.argv[1]).write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
