"""The simulator of large runs: whatever happens to replicas, every sample ends once, and the printed limits follow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scripts.simulate_scale import Outcome, Simulation, World, limits_of, told

CALM = World(
    replicas=20,
    samples=4000,
    load_s=10,
    late_share=0,
    hours_between_deaths=1e9,
    hangs_per_million=0,
    poison_per_million=0,
    driver_us=1,
)


def test_calm_replicas_are_nearly_always_busy() -> None:
    outcome = Simulation(CALM).run()
    assert (outcome.n_answered, outcome.n_given_up, outcome.n_lost) == (4000, 0, 0)
    assert (outcome.n_asked, outcome.n_most_asked) == (4000, 1), "nothing is asked twice"
    assert outcome.busy_s / outcome.ready_s > 0.8
    replicas = next(limit for limit in limits_of(CALM, outcome) if limit.part == "replicas")
    assert outcome.steady_per_s == pytest.approx(replicas.per_s, rel=0.15), "the fake clock and the formula agree"


def test_it_is_the_same_whenever_its_seed_is() -> None:
    first, again, other = (Simulation(replace(CALM, seed=seed)).run().makespan_s for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("seed", range(4))
def test_deaths_hangs_and_late_machines_lose_nothing(seed: int) -> None:
    world = replace(
        CALM, hours_between_deaths=0.05, hangs_per_million=5000, deadline_s=30, late_share=0.5, late_s=60, seed=seed
    )
    outcome = Simulation(world).run()
    assert outcome.n_lost > 0, "the world was not calm"
    assert outcome.n_answered + outcome.n_given_up == world.samples
    assert outcome.n_most_asked <= 2
    assert outcome.n_asked - world.samples <= outcome.n_lost * world.batch, "only what was being computed"


def test_a_sample_that_kills_is_given_up_alone() -> None:
    world = replace(CALM, poison_per_million=1000)
    simulation = Simulation(world)
    outcome = simulation.run()
    n_poison = len(simulation._poison)
    assert 0 < n_poison < 20
    assert outcome.n_given_up == n_poison
    assert outcome.n_answered == world.samples - n_poison


def test_a_slow_driver_is_what_breaks_first() -> None:
    world = replace(CALM, driver_us=20_000)
    outcome = Simulation(world).run()
    assert outcome.steady_per_s == pytest.approx(50, rel=0.05)
    assert outcome.driver_s / outcome.makespan_s > 0.8
    limits = limits_of(world, outcome)
    assert (limits[0].part, limits[0].per_s) == ("driver", 50)
    (last,) = [line for line in told(world, outcome, 1) if "100,000,000" in line]
    assert "555.6 h with one driver" in last, "100 million samples at 50 a second"
    assert "with 3 that share the replicas" in last, "20 replicas could answer 141 a second"


def test_limits_are_sorted_and_say_why() -> None:
    outcome = Outcome(n_answered=1000, scheduling_s=0.01)
    limits = limits_of(World(sample_kb=10_000), outcome)
    assert limits[0].part == "network of the driver's machine"
    assert limits[0].per_s == 125
    assert all(limit.why for limit in limits)
