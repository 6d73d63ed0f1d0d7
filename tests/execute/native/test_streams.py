"""Native loops that draw random numbers: the same numbers, in the same order, whatever ends the loop."""

import math
import random
import runpy
import signal
import threading

import numpy as np
import pytest

import autograph as ag
from runtime.execute.native import streams

N = 40


def make(kind, seed=5):
    if kind is random.Random:
        return random.Random(seed)
    return np.random.default_rng(seed) if kind is np.random.Generator else np.random.RandomState(seed)


KINDS = [np.random.Generator, np.random.RandomState, random.Random]
BOTH = KINDS[:2]


class Sub(np.random.Generator):
    def random(self, *args, **kwargs):
        return 0.25


def same(a, b):
    assert type(a) is type(b), (a, b)
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    else:
        assert a == b or (a != a and b != b)


def check(f, kinds, *args, calls=3, native=True):
    """Compare calls on streams of these kinds, and what the streams give afterwards."""
    auto = native and ag.settings.executor == "auto"  # else Python may do some, to weigh both
    with ag.settings.override(executor="native" if auto else ag.settings.executor):
        return checked(f, kinds, args, calls, native)


def checked(f, kinds, args, calls, native):
    g = ag.function(f)
    for kind in kinds:
        for seed in range(calls):
            one, other = make(kind, seed), make(kind, seed)
            outcomes = []
            for run, stream in ((f, one), (g, other)):
                given = [x.copy() if isinstance(x, np.ndarray) else x for x in args]
                try:
                    outcomes.append((run(stream, *given), given))
                except Exception as error:
                    outcomes.append(((type(error), str(error)), given))
            same(*outcomes)
            assert one.random() == other.random()
        if native and ag.settings.executor != "numpy":
            concrete = g.get_concrete_function(make(kind), *args)
            assert concrete.native is not None and concrete.native.calls >= calls, concrete.not_native
    return g


def walk(rng, n):
    x, out = 0.0, np.empty(n)
    for i in range(n):
        if rng.random() < 0.4:
            x += rng.random()
        else:
            x -= 1.5
        out[i] = x
    return out, x


def distributions(rng, n):
    out = np.empty((n, 8))
    for i in range(n):
        out[i, 0] = rng.normal()
        out[i, 1] = rng.normal(i, 0.5)
        out[i, 2] = rng.uniform(-1.0, 3.0)
        out[i, 3] = rng.exponential(2.0)
        out[i, 4] = rng.standard_normal()
        out[i, 5] = rng.poisson(3.0)
        out[i, 6] = rng.gamma(2.0, scale=1.5)
        out[i, 7] = rng.beta(1.0, 2.0) + rng.binomial(7, 0.3)
    return out


def whole(rng, n):
    counts = np.zeros(6, dtype=np.int64)
    for _ in range(n):
        counts[rng.integers(6)] += 1
        counts[rng.integers(1, 4, dtype=np.int32)] += 1
    return counts


def arrays(rng, x):
    total = 0.0
    for i in range(N):
        u = rng.random(3)
        v = rng.normal(size=(2, 2))
        order = rng.permutation(x)
        picked = rng.choice(x)
        total += u[i % 3] + v[1, 0] + order[0] * picked
    return total


def until(rng, bound):
    x, n = 0.0, 0
    while abs(x) < bound and n < 500:
        x += rng.standard_normal()
        n += 1
    return x, n


def asked(rng, n):
    k = 0
    while rng.random() < 0.95 and k < n:
        k += 1
    return k


def overflows(rng, n):
    k = 1
    for _ in range(n):
        k *= 3
        if rng.random() < 0.5:
            k += 1
    return k


def raises(rng, n):
    out = 0
    for i in range(n):
        out += rng.integers(0, n // 2 - i)
    return out


def out_of_bounds(rng, x):
    for i in range(N):
        x[i] += rng.random()
    return x


def warns(rng, x):
    for i in range(N):
        x[i % 4] = np.log(rng.random() - 0.5)
    return x


def domain(rng, x):
    s = 0.0
    for i in range(N):
        x[i % 4] += rng.random()
        s += math.log(rng.random() - 0.001 * i)
    return s


def raised_by_hand(rng, x):
    for i in range(N):
        x[i % 4] += rng.random()
        if rng.random() > 0.97 or i > 30:
            raise ValueError(f"at {i}")
    return x


def two(rng, n):
    other, s = rng, 0.0
    for _ in range(n):
        s = s * 0.5 + rng.random() - other.random()
    return s


def shuffled(rng, x):
    s = 0.0
    for _ in range(N):
        rng.shuffle(x)
        s = s * 0.5 + x[0]
    return s


def globally(n):
    x, k = 0.0, 0
    for _ in range(n):
        x += np.random.random() - np.random.normal()
        if random.random() < 0.5:
            k += np.random.randint(5)
        x += random.uniform(-1, 2) * random.gauss(0.0, 2) - random.expovariate(1.5)
        k += random.randint(1, 6) - random.randrange(3)
    return x, k


def test_one_number_a_trip():
    check(walk, BOTH, N)
    check(walk, KINDS, N, native=False)


@pytest.mark.parametrize("f", [distributions, until, asked, two], ids=lambda f: f.__name__)
def test_draws_of_numbers(f):
    check(f, BOTH, N)


def test_whole_numbers():
    check(whole, BOTH[:1], N)


def test_arrays_are_drawn_too():
    check(arrays, BOTH, np.arange(5.0))


@pytest.mark.parametrize("f", [overflows, raises], ids=lambda f: f.__name__)
def test_what_the_plan_does_again_draws_the_same(f):
    check(f, BOTH[:1], 60, native=False)


@pytest.mark.parametrize(
    "f", [out_of_bounds, warns, domain, raised_by_hand, shuffled], ids=lambda f: f.__name__
)
def test_errors_and_warnings_midway(f):
    with np.errstate(all="ignore"):
        check(f, BOTH, np.ones(30), native=False)


def test_a_warning_is_given_once_with_the_right_numbers():
    g, x = ag.function(warns), np.ones(4)
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="invalid"):
            g(make(np.random.Generator), x)
    with pytest.warns(RuntimeWarning):
        same(warns(make(np.random.Generator), x.copy()), x)


def test_given_up_calls_do_not_draw_twice():
    g = ag.function(overflows)
    for n in (60, 60, 10, 60):
        for seed in range(12):
            one, other = make(np.random.Generator, seed), make(np.random.Generator, seed)
            same(overflows(one, n), g(other, n))
            assert one.random() == other.random()


def test_streams_of_other_classes():
    g = ag.function(walk)
    subclass = lambda: Sub(np.random.PCG64(3))
    for stream in (lambda: make(np.random.Generator), subclass, lambda: make(random.Random)):
        for _ in range(3):
            same(walk(stream(), N), g(stream(), N))


@pytest.mark.parametrize("bits", ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"])
def test_all_kinds_of_bits(bits):
    def stream():
        return np.random.Generator(getattr(np.random, bits)(7))

    g = ag.function(distributions)
    for _ in range(2):
        one, other = stream(), stream()
        same(distributions(one, N), g(other, N))
        assert one.random() == other.random() and one.integers(9) == other.integers(9)
    g = ag.function(overflows)
    for _ in range(2):
        one, other = stream(), stream()
        same(overflows(one, 80), g(other, 80))
        assert one.random() == other.random()


def test_the_streams_of_the_modules():
    g = ag.function(globally)
    for seed in range(3):
        np.random.seed(seed)
        random.seed(seed)
        want = globally(N), np.random.random(), random.random()
        np.random.seed(seed)
        random.seed(seed)
        same(want, (g(N), np.random.random(), random.random()))
    if ag.settings.executor != "numpy":
        assert g.get_concrete_function(N).executor == "native", g.get_concrete_function(N).not_native


def refused(n):
    k = 0
    for i in range(n):
        k += random.randint(0, n // 2 - i)
    return k


def uniform(n):
    x = 0.0
    for _ in range(n):
        x += random.uniform(-1.0, 2.0)
    return x


def test_methods_of_the_modules_that_are_exchanged(monkeypatch):
    g = ag.function(uniform)
    own = random.uniform
    for new in (own, lambda a, b: b, own, lambda a, b: 3, own):
        monkeypatch.setattr(random, "uniform", new)
        for _ in range(2):
            random.seed(4)
            want = uniform(N)
            random.seed(4)
            same(want, g(N))


def global_draws(n):
    x = 0.0
    for _ in range(n):
        x += np.random.random()
    return x


def test_methods_of_numpys_module_that_are_exchanged(monkeypatch):
    g = ag.function(global_draws)
    own = np.random.random
    for new in (own, lambda: 2.0, own, lambda: 3, own):
        monkeypatch.setattr(np.random, "random", new)
        for _ in range(2):
            np.random.seed(4)
            want = global_draws(N)
            np.random.seed(4)
            same(want, g(N))


def test_errors_of_the_modules_streams():
    g = ag.function(refused)
    for n in (N, N, 2, N):
        outcomes = []
        for f in (refused, g):
            random.seed(3)
            try:
                outcomes.append((f(n), random.random()))
            except ValueError as error:
                outcomes.append((str(error), random.random()))
        same(*outcomes)


def endless(rng, out, n):
    for i in range(n):
        out[i % 7] = rng.random()
        out[7] += 1.0
    return out


def test_an_interrupt_leaves_what_was_done():
    g, out, rng = ag.function(endless), np.zeros(8), make(np.random.Generator)
    for n in (50, 60, 70):  # it is traced and compiled for any number of trips
        g(rng, out, n)
    out[:] = 0.0

    def stop(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    state = rng.bit_generator.state
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            g(rng, out, 10**12)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    done = int(out[7])
    again = np.random.default_rng(0)
    again.bit_generator.state = state
    again.random(done - 1)
    assert done > 50 and again.random() in out[:7]
    assert rng.random() in again.random(2)


def direct(rng, a, b):
    out = np.empty((N, 12))
    for i in range(N):
        out[i, 0] = rng.random()
        out[i, 1] = rng.uniform(a, b)
        out[i, 2] = rng.standard_normal()
        out[i, 3] = rng.standard_exponential()
        out[i, 4] = rng.normal(a, b)
        out[i, 5] = rng.lognormal(a, b)
        out[i, 6] = rng.laplace(a, b)
        out[i, 7] = rng.logistic(a, b)
        out[i, 8] = rng.gumbel(a, b)
        out[i, 9] = rng.exponential(b)
        out[i, 10] = rng.gamma(b, b) + rng.beta(b, b)
        out[i, 11] = rng.poisson(b)
    return out


PAIRS = [
    (0.5, 2.0), (np.float64(-1.5), np.float32(2.5)), (1, 3), (np.int8(1), np.int64(70)), (True, 2.5),
    (-5, 2**60),
    (0.5, 0.0), (0.5, -0.0), (0.5, -1.0), (2.0, 1.0), (0.5, math.nan), (math.nan, 1.0), (math.inf, 2.0),
    (0.5, math.inf), (-1.7e308, 1.7e308), (0, 1e300), (0.5, 1e-320), (3.0, 1000.0),
]  # fmt: skip


@pytest.mark.parametrize("a,b", PAIRS)
def test_draws_without_python(a, b):
    check(direct, BOTH[:1], a, b, calls=2, native=False)


@pytest.mark.parametrize("a,b", PAIRS)
def test_each_draw_alone_with_all_arguments(a, b, tmp_path):
    lines = ["import numpy as np", f"N = {N}"]
    calls = ("uniform(a, b)", "normal(a, b)", "laplace(a, b)", "exponential(b)", "gamma(b, b)", "poisson(b)",
             "beta(a, b)", "uniform(a)", "normal(b)")  # fmt: skip
    for k, call in enumerate(calls):
        lines += [f"def f{k}(rng, a, b):", "    s = 0.0", "    for i in range(N):"]
        lines += [f"        s = s * 0.5 + rng.{call}", "    return s", ""]
    (tmp_path / "alone.py").write_text("\n".join(lines))
    space = runpy.run_path(str(tmp_path / "alone.py"))
    for k in range(len(calls)):
        check(space[f"f{k}"], BOTH if k in (0, 1, 7) else BOTH[:1], a, b, calls=2, native=False)


def picks(rng, low, high):
    s = 0.0
    for i in range(N):
        s = s * 0.25 + rng.integers(low, high)
        s = s * 0.25 + rng.integers(high) + i
    return s


RANGES = [
    (0, 6), (-5, 1), (3, 4), (0, 2**31), (0, 2**32), (1, 2**32 + 1), (-(2**63), 2**63 - 1), (np.int8(1), 9),
    (0, np.int64(2**40)), (5, 5), (6, 5), (0, 2**63), (0, 2**64), (0.0, 6.0), (True, 4), (0, np.uint64(9)),
    (-(2**64), 4),
]  # fmt: skip


@pytest.mark.parametrize("low,high", RANGES)
def test_whole_numbers_of_a_range(low, high):
    check(picks, BOTH[:1], low, high, calls=2, native=False)


def kinds_change(rng, n):
    x, s = 0.0, 0.0
    for i in range(n):
        x = rng.normal(x, 0.5) if rng.random() < 0.9 else float(i)
        s += x
    return s


def test_draws_that_go_into_draws():
    check(kinds_change, BOTH[:1], N)


def in_branches(rng, n):
    a = b = 0
    for i in range(n):
        k = rng.integers(10) if i % 3 else rng.integers(5)
        y = rng.random() if k > 4 else 0.25
        z = rng.poisson(2.0) if y > 0.5 else 3
        a += k + z
        b += y > 0.3
    return a, b


def test_draws_in_branches_are_made_only_there():
    check(in_branches, BOTH[:1], N)


def counts(rng, n):
    hits = 0
    for _ in range(n):
        x, y = rng.random(), rng.random()
        if x * x + y * y < 1.0:
            hits += 1
    return hits


def test_counting_stays_in_order():
    check(counts, BOTH, 5000)


def test_threads_that_share_a_stream_draw_different_numbers():
    g, rng = ag.function(walk), make(np.random.Generator)
    g(rng, N)
    found = []
    threads = [threading.Thread(target=lambda: found.append(g(rng, 200_000)[0])) for _ in range(3)]
    threads += [threading.Thread(target=lambda: [rng.random(100_000) for _ in range(20)]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and not np.array_equal(found[0], found[1])


def short(rng, n):
    s = 0.0
    for _ in range(n):
        for _ in range(3 + n % 2):
            s += rng.random()
    return s


def test_short_loops_reached_often():
    check(short, BOTH, 200, native=False)


def sorting(rng, x, n):
    out = np.empty(n)
    for i in range(n):
        out[i] = rng.random() + np.sort(x)[i]
    return out


def calling(rng, x, n):
    out = np.empty(n)
    for i in range(n):
        out[i] = rng.random() + np.partition(x, i)[i]
    return out


def sharing(rng, x, n):
    out = np.empty(n)
    for i in range(n):
        out[i] = rng.random() + np.exp(np.sin(x) * i).sum()
    return out


@pytest.mark.parametrize(("f", "size"), [(sorting, 100_000), (calling, 100_000), (sharing, 500_000)])
def test_nothing_is_drawn_while_another_thread_does(f, size):
    x, rng = np.random.default_rng(0).random(size), make(np.random.Generator)
    state, done, seen = rng.bit_generator, threading.Event(), []

    def other():  # takes the lock while native code is at work that does not need Python's
        while not done.is_set():
            with state.lock:
                before = state.state["state"]["state"]
                done.wait(0.005)
                seen.append(before == state.state["state"]["state"])
            done.wait(0.001)

    with ag.settings.override(executor="native"):
        g = ag.function(f)
        g(rng, x, N)
        thread = threading.Thread(target=other)
        thread.start()
        try:
            g(rng, x, N)
        finally:
            done.set()
            thread.join()
        assert g.get_concrete_function(rng, x, N).native.calls
    assert all(seen), seen


@pytest.mark.parametrize("again", [False, True])
def test_what_is_raised_while_streams_are_looked_at(again, monkeypatch):
    kept = streams._kept

    def failing(stream):
        if not again:  # what a signal handler raises, it raises once
            monkeypatch.setattr(streams, "_kept", kept)
        raise TimeoutError("stopped")

    with ag.settings.override(executor="native"):
        g = ag.function(short)
        g(make(np.random.Generator), N)
        monkeypatch.setattr(streams, "_kept", failing)
        if again:
            assert g(make(np.random.Generator), N) == short(make(np.random.Generator), N)
        else:
            with pytest.raises(TimeoutError, match="stopped"):
                g(make(np.random.Generator), N)
