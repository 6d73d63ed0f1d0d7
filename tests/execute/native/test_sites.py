"""Loops over values whose types are known only when the loop is reached do what plain Python does."""

import traceback

import numpy as np
import pytest

import autograph as ag
from runtime.execute.native import sites


class Sub(np.ndarray):
    def __getitem__(self, key):
        return super().__getitem__(key) + 1


def readonly(x):
    x.flags.writeable = False
    return x


@ag.do_not_convert
def opaque(x):
    return x


N = 20  # more than are unrolled
VALUES = {
    "float64": lambda: np.linspace(-1.0, 2.0, N),
    "int64": lambda: np.arange(1, N + 1),
    "float32": lambda: np.linspace(-1, 2, N).astype(np.float32),
    "bool": lambda: np.arange(N) % 2 == 0,
    "complex": lambda: np.arange(N) * (1 + 0.5j),
    "strided": lambda: np.arange(2.0 * N)[::2],
    "backward": lambda: np.arange(float(N))[::-1],
    "read-only": lambda: readonly(np.arange(float(N))),
    "big-endian": lambda: np.arange(N, dtype=">f8"),
    "objects": lambda: np.array([1, 2.5] * (N // 2), dtype=object),
    "subclass": lambda: np.arange(float(N)).view(Sub),
    "list": lambda: [1.5, 2.5] * (N // 2),
    "ints": lambda: [2**62, 2**63] * (N // 2),
    "tuple": lambda: tuple(range(N)),
    "text": lambda: "abcde" * (N // 5),
    "dict": lambda: dict.fromkeys(range(N), 2.0),
    "matrix": lambda: np.arange(2.0 * N).reshape(N, 2),
    "turned": lambda: np.asfortranarray(np.arange(2.0 * N).reshape(N, 2)),
    "short": lambda: np.arange(3.0),
    "empty": lambda: np.zeros(0),
    "0-d": lambda: np.array(3.0),
    "float": lambda: 2.5,
    "int": lambda: 6,
    "large": lambda: 2**70,
    "np.float64": lambda: np.float64(2.5),
    "np.int64": lambda: np.int64(6),
    "np.int8": lambda: np.int8(100),
    "True": lambda: True,
    "None": lambda: None,
}


def total(x, n):
    u = opaque(x)
    s = 0.0
    for i in range(n):
        s = s + u[i] * 2
    return s


def written(x, n):
    u = opaque(x)
    for i in range(1, n):
        u[i] = u[i - 1] * 2 + u[i]
    return u


def midway(x, n):
    u = opaque(x)
    for i in range(n):
        u[i] = u[i] * 3
        if u[i] > 4:
            raise ValueError(f"at {i}")
    return u


def aliased(x, n):
    u, v = opaque(x), opaque(x)
    for i in range(n - 1):
        u[i + 1] = v[i] + u[i + 1] * 0.5
    return u, v


def rebound(x, n):
    u = opaque(x)
    s = 0
    for i in range(n):
        u = u * 0.5 + i
        s += 1
    return u, s


def in_place(x, n):
    u = opaque(x)
    for i in range(n):
        u *= 2
        u += i
    return u


def over(x, n):
    s = 0.0
    last = None
    for v in opaque(x):
        s = s + v * 2
        last = v
    return s, last


def counted(x, n):
    k = opaque(x)
    s = 0
    for i in range(100):
        s = s + k * i
        if s > 1000:
            break
    return s, i


def going(x, n):
    k, s = opaque(x), 0
    while k - s > 0.25:
        s = s + 1
        if s == 500:
            break
    return s, k - s


def nested(x, n):
    u = opaque(x)
    out = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if u[i] - u[j] > 1:
                continue
            out[i, j] = u[i] * u[j] - len(u)
    return out


def typed(x, n):
    u = opaque(x)
    s = 0.0
    for i in range(n):
        if isinstance(u, np.ndarray) and u is not None:
            s = s + np.exp(-abs(u[i])) + u.sum() + u.shape[0]
        else:
            s = s - max(u[i], 0)
    return s


def unbound(x, n):
    u = opaque(x)
    for i in range(n):
        if u[i] > 1.5:
            found = u[i] * 1
            break
    return found


def quiet(x, n):
    u = opaque(x)
    s = 0.0
    for i in range(n):
        with np.errstate(all="ignore"):
            v = np.log(u[i] * 1.0)
            w = 1.0 / (u[i] * 1.0)
        s = s + (v if v > -3 else 0.5) + (w if -9.0 < w < 9.0 else 0.25)
    return s


LOOPS = (
    quiet,
    total,
    written,
    midway,
    aliased,
    rebound,
    in_place,
    over,
    counted,
    going,
    nested,
    typed,
    unbound,
)


def outcome(f, x, n):
    """What a call gives, or raises and where, and what has become of the argument."""
    with np.errstate(all="ignore"):
        try:
            got = ("gives", f(x, n))
        except Exception as error:
            frames = [
                (e.lineno, e.name)
                for e in traceback.extract_tb(error.__traceback__)
                if e.filename == __file__
            ]
            frames = [place for place in frames if place[1] != "outcome"]
            got = ("raises", type(error), str(error), frames)
    return got, x


def same(a, b):
    assert type(a) is type(b), (type(a), type(b))
    if isinstance(a, (tuple, list)):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    elif isinstance(a, dict):
        same(list(a.items()), list(b.items()))
    elif isinstance(a, (np.ndarray, np.generic)):
        assert a.dtype == b.dtype and a.shape == b.shape
        x, y = np.asarray(a), np.asarray(b)
        if x.dtype.kind in "fc":
            assert np.allclose(x, y, rtol=1e-14, atol=0, equal_nan=True)
        else:
            assert (x == y).all()
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-14, abs=0, nan_ok=True)
    else:
        assert a == b


@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_values_of_all_kinds_one_after_the_other(f):
    g = ag.function(f)
    for n in (N, 0):
        for name, make in VALUES.items():
            for _ in range(2):
                want, got = outcome(f, make(), n), outcome(g, make(), n)
                try:
                    same(want, got)
                except AssertionError as error:
                    raise AssertionError(f"{f.__name__}, {name}, n={n}: {want} {got}") from error


@pytest.mark.parametrize("kind", ["float64", "int64", "strided", "turned", "float", "np.int8", "list"])
@pytest.mark.parametrize("f", LOOPS, ids=lambda f: f.__name__)
def test_the_first_kind_may_be_any(f, kind):
    g = ag.function(f)
    for name in (kind, kind, "float64", kind, "subclass", kind):
        same(outcome(f, VALUES[name](), N), outcome(g, VALUES[name](), N))


def in_turns(xs, n):
    s = 0.0
    for t in range(n):
        u = opaque(xs[t % 3])
        for i in range(N):
            s = s + u[i] * 0.5
    return s


def test_types_that_change_from_trip_to_trip():
    g = ag.function(in_turns)
    kinds = [np.arange(float(N)), np.arange(N), np.arange(N, dtype=np.float32)]
    for xs in (kinds, [kinds[0], list(range(N)), kinds[1]], [tuple(range(N))] * 3, kinds):
        for _ in range(2):
            same(in_turns(xs, 12), g(xs, 12))


def later_parts(g, *args):
    return g.get_concrete_function(*args).native.later


@pytest.fixture
def native():
    if ag.settings.executor == "numpy":
        pytest.skip("no native code")


def test_arrays_that_unknown_code_gives_are_looped_over_natively(native):
    g, x = ag.function(nested), np.linspace(0.0, 1.0, N)
    g(x, N)
    outer = later_parts(g, x, N)[-1]
    assert outer.made and not outer.reason
    before = g.get_concrete_function(x, N).native.calls
    g(x, N)
    assert g.get_concrete_function(x, N).native.calls == before + 1


def test_what_can_not_be_native_is_given_up_for_good(native):
    g, x = ag.function(total), [1.0] * N
    for _ in range(sites.TRIES):
        assert g(x, N) == total(x, N)
    (site,) = later_parts(g, x, N)
    assert site.shut and site.reason and not site.made
    assert g(np.ones(N), N) == 2.0 * N


def many(xs):
    s = 0.0
    for t in range(len(xs)):
        u = opaque(xs[t])
        for i in range(N):
            s = s + u[i] * 0.5
    return s


def test_kinds_are_bounded(native):
    g = ag.function(many)
    names = "int8 int16 int32 int64 uint8 uint16 uint32 float32 float64"
    xs = [np.arange(N).astype(name) for name in names.split()] * 2
    for _ in range(2):
        same(many(xs), g(xs))
    (site,) = later_parts(g, xs)
    assert len(site.found) == len(site.made) == sites.KINDS


def drawing(seed, n):
    rng, x = opaque(np.random.default_rng(seed)), opaque(np.zeros(5))
    for i in range(n):
        x[i % 5] += rng.normal(x[i % 3], 0.5)
    return x, rng.random()


def test_streams_that_unknown_code_gives(native):
    g = ag.function(drawing)
    for seed in range(3):
        same(drawing(seed, N), g(seed, N))
    (site,) = later_parts(g, 0, N)
    assert site.made, site.reason


class Streamer:
    def __init__(self, seed):
        self.rng, self.x = np.random.default_rng(seed), np.zeros(4)

    def step(self, k):
        self.x[k % 4] += self.rng.normal() * self.rng.random()
        if self.x[0] > 0.0:  # where one field is not read
            self.x[1] -= 0.5
        else:
            self.x[2] += self.rng.random()


def stepped(streamer, n):
    for k in range(n):
        streamer.step(k)
    return streamer.x.copy(), streamer.rng.random()


def test_streams_that_objects_hold():
    g = ag.function(stepped)
    one, other = Streamer(3), Streamer(3)
    for _ in range(4):
        same(stepped(one, N), g(other, N))
        same(one.x, other.x)
    if ag.settings.executor != "numpy":
        (site,) = later_parts(g, one, N)
        assert site.all_made, site.told


factor = np.exp


def by_name(x, n):
    u = opaque(x)
    s = 0.0
    for i in range(n):
        u[i] = u[i] * 1
        s = s + factor(u[i] * 0.5) + abs(u[i])
    return s


def test_names_that_mean_something_else_later(monkeypatch):
    g = ag.function(by_name)
    for f in (np.exp, np.sin, np.exp, lambda x: x + 1, np.sin, np.exp):
        monkeypatch.setitem(globals(), "factor", f)
        same(g(np.ones(N), N), by_name(np.ones(N), N))
    monkeypatch.setitem(globals(), "abs", lambda x: 100.0)
    same(g(np.ones(N), N), by_name(np.ones(N), N))


def test_explain_tells_what_there_is_code_for(native):
    g = ag.function(nested)
    g(np.linspace(0.0, 1.0, N), N)
    assert "float64[?]" in str(ag.explain(g))


scale = 2.0


def by_number(x, n):
    u = opaque(x)
    s = 0.0
    for i in range(n):
        s = s + u[i] * scale
    return s


def test_a_global_number_that_keeps_changing(monkeypatch):
    g = ag.function(by_number)
    for k in (1.0, 2.0, 3, 4.0, "a", 5.0):
        monkeypatch.setitem(globals(), "scale", k)
        for x in (np.arange(N), [0.5] * N):
            same(outcome(by_number, x, N), outcome(g, x, N))
