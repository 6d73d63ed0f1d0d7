"""What functions promise, bullet by bullet: a table of small programs that each show one of them.

A row is the bullet, what is shown, and a function that asserts it; all run with both executors.
"""

from __future__ import annotations

import concurrent.futures
import gc
import pickle
import sys
import threading
import warnings
import weakref

import cloudpickle
import numpy as np
import pytest

import autograph as ag
import runtime

ROWS = []
X = np.arange(4.0)


def promise(bullet):
    """Put a function into the table."""

    def add(f):
        ROWS.append((bullet, f))
        return f

    return add


def plus(x, n=1):
    return x + n


# ------------------------------------------------------------------------------------ polymorphic function
@promise("polymorphic function")
def a_trace_per_type_and_each_answers():
    f = ag.function(plus)
    calls = [(X,), (X.astype("f4"),), (X[:2],), (np.float64(1),), (2,), (2.0,), (np.ones((2, 2)),)]
    for args in calls * 2:
        assert repr(f(*args)) == repr(plus(*args))
    assert len(f.traces) == len(calls)


@promise("polymorphic function")
def the_most_specific_matching_trace_runs():
    f = ag.function(plus)
    for n in (2, 3, 4):
        f(np.ones(n))
    exact = f.get_concrete_function(np.ones(3))
    assert len(f.traces) == 2 and exact is f.traces[1].concrete or exact.signature.unknowns() == 0
    assert f.get_concrete_function(np.ones(3)) is exact and f(np.ones(9)).shape == (9,)


@promise("polymorphic function")
def signatures_with_open_axes_and_ranks():
    f = ag.function(lambda x, y: (x.sum(), y.shape), input_signature=[
        ag.TensorSpec((None, 2), float), ag.TensorSpec(None, int)])  # fmt: skip
    for n, shape in [(1, ()), (3, (2,)), (5, (1, 2, 3))]:
        assert f(np.ones((n, 2)), np.zeros(shape, int)) == (2.0 * n, shape)
    assert len(f.traces) == 1
    with pytest.raises(ag.SignatureError) as caught:
        f(np.ones((2, 3)), np.zeros(2, int))
    text = str(caught.value)
    assert "given:" in text and "float64[2, 3]" in text and "promised:" in text and "shape=(None, 2)" in text


@promise("polymorphic function")
def signatures_in_trees():
    spec = ag.TensorSpec((None,), float)
    f = ag.function(
        lambda p, q: p["w"] @ p["b"][0] + q[1], input_signature=[{"w": spec, "b": [spec]}, (1, spec)]
    )
    for n in (2, 5):
        x = np.arange(float(n))
        assert np.array_equal(f({"w": x, "b": [x]}, (1, x)), x @ x + x)
    assert len(f.traces) == 1
    with pytest.raises(ag.SignatureError, match=r"p\['b'\]\[0\]"):
        f({"w": X, "b": [X.astype(int)]}, (1, X))


@promise("polymorphic function")
def python_arguments_by_type_and_value():
    f = ag.function(lambda n: type(n).__name__)
    assert [f(n) for n in (1, 1.0, True, 1, 1.0, True)] == ["int", "float", "bool"] * 2 and len(f.traces) == 3


@promise("polymorphic function")
def unhashable_arguments_by_class_held_weakly():
    class Table:
        __hash__ = None

        def __init__(self, rate):
            self.rate = rate

    f = ag.function(lambda x, table: x * table.rate)
    tables = [Table(2.0), Table(3.0)]
    assert [f(1.0, t) for t in tables * 2] == [2.0, 3.0, 2.0, 3.0]
    gone = [weakref.ref(t) for t in tables]
    del tables
    gc.collect()
    assert [r() for r in gone] == [None, None]


@promise("polymorphic function")
def generalising_at_the_second_difference():
    f = ag.function(plus)
    for n in range(2, 12):
        f(np.ones(n), n)
    shown = [str(r.signature) for r in f.traces]
    assert len(shown) == 2 and "float64[2]" in shown[0] and "float64[?], n: int" in shown[1]


@promise("polymorphic function")
def concrete_functions_from_specs_and_values():
    f = ag.function(plus)
    c = f.get_concrete_function(ag.TensorSpec((None,), float), n=2)
    assert c.structured_input_signature == ((ag.TensorSpec((None,), float, "x"), 2), {})
    assert c.structured_outputs == ag.TensorSpec((None,), float) and np.array_equal(c(X), X + 2)
    assert f.get_concrete_function(X, 2) is not c
    assert "plus(x: float64[?], n: =2) -> float64[?]" in f.pretty_printed_concrete_signatures()
    with pytest.raises(ag.SignatureError, match=r"(?s)given: .*int64\[2\].*traced: .*float64\[\?\]"):
        c(np.array([1, 2]))


@promise("polymorphic function")
def methods_share_a_cache_and_keep_no_instance():
    class Layer:
        def __init__(self, w):
            self.w = w

        @ag.function
        def __call__(self, x):
            return x * self.w

    a, b = Layer(2.0), Layer(np.float64(3.0))
    assert np.array_equal(a(X), 2 * X) and np.array_equal(b(X), 3 * X)
    gone = weakref.ref(a)
    del a
    gc.collect()
    assert gone() is None


@promise("polymorphic function")
def functions_in_functions_are_part_of_the_graph():
    seen = []
    inner = ag.function(lambda x: x * 2 + 1)

    @ag.function
    def outer(x):
        ag.py_function(seen.append, 1)
        return inner(inner(x)) + inner(X)

    assert np.array_equal(outer(X), 6 * X + 4) and np.array_equal(outer(X), 6 * X + 4)
    assert len(outer.traces) == 1 and not inner.traces and seen == [1, 1]


@promise("polymorphic function")
def the_cache_is_bounded_and_the_least_recently_used_goes():
    f = ag.function(lambda s: s + "!", reduce_retracing=False)
    with ag.settings.override(cache_size=3):
        for s in "abc":
            f(s)
        f("a")
        f("d")
    kept = [str(r.signature) for r in f.traces]
    assert len(kept) == 3 and any("'a'" in s for s in kept) and not any("'b'" in s for s in kept), kept


@promise("dispatch speed")
def a_cached_call_runs_little_python():
    """Counted, not timed: how many frames of Python a call runs before the trace."""
    f, seen = ag.function(plus), []
    for _ in range(100):  # without machine code, it takes turns with the Python function at first
        f(X, n=2)
    (record,) = f.traces
    record.concrete.native  # it waits for it

    def count(frame, event, arg):
        if event == "call":
            seen.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        f(X, n=2)
    finally:
        sys.setprofile(before)
    without_machine_code = ["_ag_call", "plus"]  # the test of the trace, and the plan
    assert seen in ([], ["plus"], without_machine_code), seen


@promise("polymorphic function")
def nothing_leaks():
    def count():
        gc.collect()
        return len(gc.get_objects())

    with ag.settings.override(cache_size=4):
        f = ag.function(lambda x, n: x * n, reduce_retracing=False)
        counts = []
        for part in range(3):
            for n in range(part * 40, part * 40 + 40):
                f(1.5, n)
            counts.append(count())
    assert counts[2] - counts[1] < 300, counts


@promise("polymorphic function")
def functions_are_pickled():
    rate = 3.0
    f = ag.function(lambda x: x * rate if x.sum() > 1 else x)
    again = pickle.loads(cloudpickle.dumps(f))
    assert np.array_equal(again(X), X * 3) and isinstance(again, ag.PolymorphicFunction)


# ------------------------------------------------------------------------------------ accountable traces
@promise("accountable traces")
def each_retrace_names_what_differed():
    f = ag.function(lambda x, mode: x if mode == "a" else -x)
    f(X, "a")
    f(X, "b")
    f(X[:2], "b")
    why = f.why()
    assert "first call" in why and "argument 'mode' is ='b', was ='a'" in why
    assert "argument 'x' is float64[2], was float64[4]" in why and "to avoid it" in why
    assert all(r.seconds > 0 and r.bytes > 0 for r in f.traces) and len(f.traces) == 3


SCALE = 2.0


@promise("accountable traces")
def guards_say_old_and_new():
    global SCALE
    f = ag.function(lambda x: x * SCALE)
    try:
        f(X)
        SCALE = 5.0
        assert np.array_equal(f(X), X * 5)
        assert "global 'SCALE' is =5.0, was =2.0" in f.why()
    finally:
        SCALE = 2.0


@promise("accountable traces")
def repeated_retraces_warn_with_argument_and_fix():
    f = ag.function(lambda s: len(s))
    with ag.settings.override(warn_after_retraces=3), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for k in range(6):
            f("a" * k)
    texts = [str(w.message) for w in caught if w.category is ag.RetraceWarning]
    assert len(texts) == 1 and "argument 's'" in texts[0] and "to avoid it" in texts[0]


@promise("accountable traces")
def no_new_traces_is_an_error_with_the_reason():
    f = ag.function(plus)
    f(X, 1)
    with ag.no_new_traces():
        f(X * 2, 1)
        with pytest.raises(ag.NewTraceError) as caught:
            f(X, 2.5)
    assert "argument 'n' is =2.5, was =1" in str(caught.value) and len(f.traces) == 1


# ------------------------------------------------------------------------------------------- Variable
@promise("Variable")
def changes_are_seen_everywhere_and_in_order():
    v = ag.Variable(np.zeros(2))

    @ag.function
    def step(x):
        v.assign_add(x)
        before = v.value
        v[0] = 7.0
        v.assign(v * 2)
        return before, np.exp(v).sum(), v + 1

    concrete = step.get_concrete_function(np.ones(2))
    for call in (step, concrete):
        v.assign([0, 0])
        before, _, after = call(np.ones(2))
        assert after.tolist() == [15, 3] and v.value.tolist() == [14, 2] and before.tolist() == [7, 1]
    v.assign([1, 1])
    assert step(np.zeros(2))[2].tolist() == [15, 3] and len(step.traces) == 1


@promise("Variable")
def made_once_else_an_error_with_the_fix():
    class Counter:
        def __init__(self):
            self.v = None

        @ag.function
        def once(self, x):
            if self.v is None:
                self.v = ag.Variable(0.0)
            return self.v.assign_add(x).value

    c = Counter()
    assert [float(c.once(1.0)), float(c.once(1.0))] == [1.0, 2.0]
    bad = ag.function(lambda x: ag.Variable(x) + x)
    bad(X)
    with pytest.raises(ag.VariableError, match="fix: make it once"):
        bad(X[:2])


# ------------------------------------------------------------------------------------------ gradients
def adaptive(y, rate):
    """A decay followed by steps that choose their own length."""
    t, h = 0.0, 0.1
    while t < 1.0:
        if t + h > 1.0:
            h = 1.0 - t
        one = y + h * (-rate * y)
        middle = y + 0.5 * h * (-rate * y)
        two = middle + 0.5 * h * (-rate * middle)
        if abs(two - one) > 1e-4:
            h = h * 0.5
            continue
        t = t + h
        y = two
        h = h * 1.5
    return y


@promise("gradients")
def through_an_adaptive_loop():
    for f in (adaptive, ag.function(adaptive)):
        dy, dr = ag.grad(f, argnums=(0, 1))(2.0, 1.3)
        eps = 1e-6
        fd = (adaptive(2.0 + eps, 1.3) - adaptive(2.0 - eps, 1.3)) / (2 * eps)
        fr = (adaptive(2.0, 1.3 + eps) - adaptive(2.0, 1.3 - eps)) / (2 * eps)
        assert abs(dy - fd) < 1e-6 and abs(dr - fr) < 1e-6


@promise("gradients")
def what_is_not_chosen_contributes_zero():
    f = ag.function(lambda x: np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0).sum())
    assert np.array_equal(ag.grad(f)(np.array([0.0, 4.0])), [0.0, 0.25])


@promise("gradients")
def custom_gradients_are_used_and_get_the_arguments():
    @ag.custom_gradient
    def clipped(x):
        return np.clip(x, -1, 1), lambda ct: ct * 10

    x = np.array([-3.0, 0.5, 2.0])
    outer = lambda x: (clipped(x) * x).sum()
    wanted = np.clip(x, -1, 1) + 10 * x
    assert np.array_equal(ag.grad(outer)(x), wanted)
    assert np.array_equal(ag.function(lambda x: ag.grad(outer)(x))(x), wanted)
    with ag.GradientTape() as tape:
        watched = tape.watch(x)
        y = outer(watched)
    assert np.array_equal(tape.gradient(y, watched), wanted)


@promise("gradients")
def checkpoints_compute_again_and_give_the_same():
    times = []

    def layer(x, w):
        ag.py_function(times.append, 1)
        return np.tanh(x * w)

    x, w = np.array([0.5, -1.0]), np.array([1.5, 0.25])
    plain = lambda w: (layer(layer(x, w), w) ** 2).sum()
    again = lambda w: (ag.checkpoint(layer)(ag.checkpoint(layer)(x, w), w) ** 2).sum()
    want = ag.grad(plain)(w)
    once, times[:] = len(times), []
    assert np.array_equal(ag.grad(again)(w), want)
    assert len(times) > once  # what was not kept is computed again
    long = lambda x, **how: ag.for_loop(range(50), lambda k, y: np.sin(y) * 1.1, (x,), **how).sum()
    assert np.array_equal(ag.grad(lambda x: long(x, checkpoint_every="sqrt"))(x), ag.grad(long)(x))


@promise("gradients")
def tapes_and_transforms_agree():
    x = np.array([1.0, 2.0])
    with ag.GradientTape(persistent=True) as tape:
        watched = tape.watch(x)
        y = (watched**3).sum()
    assert np.array_equal(tape.gradient(y, watched), 3 * x**2)
    cube = lambda x: (x**3).sum()
    assert np.array_equal(ag.hessian(cube)(x), np.diag(6 * x))
    assert ag.jvp(cube, (x,), (np.ones(2),))[1] == 15 and ag.vjp(cube, x)[1](1.0)[0].tolist() == [3, 12]
    ag.check_grads(cube, (x,), order=2)


# -------------------------------------------------------------------------------- functional ops, vectorize
@promise("vectorize")
def functions_of_elements_answer_what_functions_do():
    def half_up(x, least=0):
        return 0 if x < least else x / 2

    half = ag.vectorize(half_up)
    assert half.why() == "'half_up' was not called yet"
    for args in ((X,), (X, 1), (X.astype(np.int64),), (X,)):
        assert np.array_equal(half(*args), [half_up(x, *args[1:]) for x in args[0].tolist()])
    assert [t.plain for t in half.traces] == [None] * 3 and "for" in half.plan_source
    assert half.pretty_printed_concrete_signatures().startswith("half_up(x: float64[4]) -> ")
    assert half.get_concrete_function(ag.TensorSpec((None,), np.float64))(X[:2]).tolist() == [0.0, 0.5]
    told = str(ag.explain(half))
    assert "staged      return 0 if x < least else x / 2" in told and "traced in" in half.explain()
    whole = ag.vmap(lambda row: row / row.sum())
    assert np.array_equal(whole(np.ones((2, 2))), [[0.5, 0.5]] * 2) and "axis=1" in whole.plan_source


@promise("functional ops by hand")
def eagerly_in_functions_and_with_derivatives():
    def program(x):
        total = ag.for_loop(range(3), lambda i, s: s + x[i] * i, (0.0,))
        ta = ag.TensorArray(size=3)
        for i in range(3):
            ta = ta.write(i, x[i] ** 2)
        carry, ys = ag.scan(lambda c, v: (c + v, c * v), 0.0, x)
        n, doubled = ag.while_loop(lambda n, d: n > 0, lambda n, d: (n - 1, d * 2), (3, x.sum()))
        case = ag.switch_case(1, [lambda: x[0], lambda: x[1] * 5])
        mapped = ag.map_fn(lambda v: v * 3 if v > 1 else v, x)
        picked = ag.cond(x.sum() > 1, lambda: x.max(), lambda: x.min())
        return total + ta.stack().sum() + carry + ys.sum() + n + doubled + case + mapped.sum() + picked

    x = np.array([0.5, 1.5, 2.5])
    assert program(x) == ag.function(program)(x)
    expected = [(program(x + h) - program(x - h)) / 2e-6 for h in np.eye(3) * 1e-6]
    for f in (program, ag.function(program)):
        assert np.allclose(ag.grad(f)(x), expected, rtol=1e-6)


@promise("vectorize and vmap")
def scalar_functions_of_arrays():
    def steps(n):
        count = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            count += 1
        return count

    n = np.arange(1, 30).reshape(29, 1)
    assert np.array_equal(ag.vectorize(steps)(n), np.vectorize(steps)(n))
    m = np.arange(12.0).reshape(3, 4)
    assert np.array_equal(ag.vmap(lambda row, w: row @ w, in_axes=(0, None))(m, X), m @ X)


# ---------------------------------------------------------------------------------- callbacks and switches
@promise("callbacks and switches")
def python_is_called_on_every_call():
    log = []
    f = ag.function(lambda x: (ag.py_function(log.append, x.shape), x + 1)[1])
    assert np.array_equal(f(X), X + 1) and np.array_equal(f(X), X + 1) and log == [(4,), (4,)]


@promise("callbacks and switches")
def eager_switch_and_question():
    answers = []

    @ag.function
    def f(x):
        answers.append(ag.executing_eagerly())
        return x + 1

    ag.run_functions_eagerly(True)
    try:
        f(X)
        assert answers == [True] and not f.traces
    finally:
        ag.run_functions_eagerly(False)
    f(X)
    assert answers == [True, False] and ag.executing_eagerly()


@promise("callbacks and switches")
def init_scope_does_as_python_does():
    made = []

    @ag.function
    def f(x):
        with ag.init_scope():
            made.append(len(made))
        return x + len(made)

    assert [f(1), f(1), f(1)] == [2, 3, 4]


LEAKS = []


@promise("callbacks and switches")
def leaked_tensors_are_caught_with_their_line():
    LEAKS.clear()

    def leaking(x):
        y = x * 2
        LEAKS.append(y)
        return y

    runtime.function(leaking)(X)  # by hand: nothing is converted, so tracing shows
    (tensor,) = LEAKS
    with pytest.raises(ag.LeakedTensorError) as caught:
        runtime.function(lambda x: x + tensor, strict=True)(X)
    assert "y = x * 2" in str(caught.value) and "test_promises.py" in str(caught.value)


# -------------------------------------------------------------------------------------- data, threads, texts
@promise("data")
def a_training_loop_is_one_graph():
    points = np.linspace(-1, 1, 32)
    ds = ag.data.Dataset.from_arrays((points, 2 * points)).shuffle(seed=1).repeat(20).batch(8).prefetch(2)

    @ag.function
    def fit(ds):
        w = np.float64(0.0)
        for x, y in ds:
            w = w - 0.5 * ((w * x - y) * x).mean()
        return w

    assert abs(fit(ds) - 2) < 1e-3 and len(fit.traces) == 1 and fit.traces[0].plain is None
    assert not [t for t in threading.enumerate() if t.name == "autograph prefetch"]


@promise("threads")
def sixteen_threads_trace_once():
    f = ag.function(lambda x: (x * 2 if x.sum() > 1 else x - 1) + 1)
    ready = threading.Barrier(16)

    def work(k):
        ready.wait()
        return [float(f(np.full(3, float(k + j))).sum()) for j in range(20)]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        got = list(pool.map(work, range(16)))
    plain = [[float(((x * 2 if x.sum() > 1 else x - 1) + 1).sum()) for j in range(20)
              for x in [np.full(3, float(k + j))]] for k in range(16)]  # fmt: skip
    assert got == plain and len(f.traces) == 1


@promise("strings")
def texts_are_tensors():
    f = ag.function(lambda x: (np.char.upper(x[x != "b"]), np.char.str_len(x).sum()))
    for x in (np.array(["a", "b", "cde"]), np.array(["b", "long text"])):
        upper, total = f(x)
        assert upper.tolist() == [t.upper() for t in x.tolist() if t != "b"] and total == sum(
            map(len, x.tolist())
        )
    assert "object" not in f.traces[0].concrete.printed_outputs


@pytest.mark.parametrize("executor", ["numpy", "auto"])
@pytest.mark.parametrize("bullet,show", ROWS, ids=[f"{b}: {f.__name__}" for b, f in ROWS])
def test_promise(bullet, show, executor):
    before, ag.settings.executor = ag.settings.executor, executor
    try:
        show()
    finally:
        ag.settings.executor = before
