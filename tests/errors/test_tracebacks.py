"""What a converted function raises is what the plain function raises, its traceback too."""

from __future__ import annotations

import pathlib
import sys
import traceback
import types

import numpy as np
import pytest

import autograph as ag
from runtime.config import settings
from tests.errors import samples

FUNCTIONS = [
    f
    for name, f in vars(samples).items()
    if isinstance(f, types.FunctionType) and f.__module__ == samples.__name__ and name != "check"
]
# Python 3.10 has no way to raise again without an entry for the function that does.
OURS = (
    set()
    if sys.version_info >= (3, 11)
    else {
        *("polymorphic.py", "loader.py", "prefixed.py", "quick.py"),
        *("callables.py", "vectorizing.py", "traceback.py"),
    }
)


def ours(file: str) -> bool:
    """Whether it is one of those; the dispatch has files with something behind their names."""
    return pathlib.Path(file).name.partition(" ")[0] in OURS


def raised(function, *args):
    try:
        function(*args)
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


def frames(error: BaseException) -> list[tuple[str, int | None, str]]:
    """File, line and function of each entry below the call in this file."""
    found = [
        (f.filename, f.lineno, f.name)
        for f in traceback.extract_tb(error.__traceback__)
        if f.name != "<listcomp>"
    ]  # a frame of its own up to Python 3.11 only
    found = [entry for entry in found if entry[0] != __file__ and not ours(entry[0])]
    # Without columns (Python 3.10) only the line of the plan is known, which several calls may share.
    return found if sys.version_info >= (3, 11) else sorted({entry[0] for entry in found})[:1]  # type: ignore


def names(error: BaseException) -> list[str]:
    """The function of each entry."""
    found = traceback.extract_tb(error.__traceback__)
    return [f.name for f in found if not ours(f.filename)]


def described(error: BaseException | None, depth: int = 99) -> object:
    """Everything of an error that a user can see; depth: how many of its innermost frames."""
    if error is None:
        return None
    notes = getattr(error, "__notes__", None)
    return (
        type(error),
        str(error),
        repr(error.args),
        notes,
        error.__suppress_context__,
        frames(error)[-depth:],
        described(error.__cause__, 1),
        described(error.__context__, 1),
    )


@pytest.mark.parametrize("executor", ["auto", "numpy"])
@pytest.mark.parametrize("x", [np.float64(4.0), 4.0, 4], ids=repr)
@pytest.mark.parametrize("plain", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_python_raises_it(plain, x, executor):
    function = ag.function(plain)
    expected = described(raised(plain, x))
    with ag.settings.override(executor=executor):
        for _ in range(2):  # while the trace is made, and when it is there
            assert described(raised(function, x)) == expected


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exception groups are new in 3.11")
def test_groups():
    def grouped(x):
        errors = []
        for value in (x, x - 1):
            try:
                samples.check(value)
            except ValueError as error:
                errors.append(error)
        raise ExceptionGroup("several", errors)  # noqa: F821

    expected, error = raised(grouped, 5.0), raised(ag.function(grouped), 5.0)
    assert described(error) == described(expected)
    assert [described(e) for e in error.exceptions] == [described(e) for e in expected.exceptions]


def test_methods_and_callables():
    class Model:
        def __init__(self):
            self.limit = 3

        @ag.function
        def method(self, x):
            return samples.check(x + self.limit)

        def __call__(self, x):
            return samples.check(x + self.limit)

    model = Model()
    line = samples.check.__code__.co_firstlineno + 2
    for function in (model.method, ag.function(model), ag.function(model.__call__)):
        error = raised(function, np.float64(1.0))
        assert sys.version_info < (3, 11) or frames(error) == [(samples.__file__, line, "check")]
        inner = [f.name for f in traceback.extract_tb(error.__traceback__) if f.filename == __file__]
        assert inner[0] == "raised" and inner[-1] in ("method", "__call__") and len(inner) == 2


def test_one_converted_function_calls_another():
    inner = ag.function(samples.check)

    def outer(x):
        return inner(x) + 1

    error = raised(ag.function(outer), np.float64(4.0))
    assert names(error)[1:] == ["outer", "check"]


def test_calls_that_no_trace_serves():
    """Without machine code, after the first trace: arguments of another kind, and the same again."""
    with settings.override(executor="numpy"):
        function = ag.function(samples.in_an_arm)
        for x in (np.int64(4), np.int64(4), 4.0, np.float32(4), 4, np.int8(4)):
            assert frames(raised(function, x)) == frames(raised(samples.in_an_arm, x)), repr(x)


WAYS = {
    "grad": ag.grad,
    "value_and_grad": ag.value_and_grad,
    "jacobian": ag.jacobian,
    "hessian": ag.hessian,
    "vjp": lambda f: lambda x: ag.vjp(f, x),
    "jvp": lambda f: lambda x: ag.jvp(f, (x,), (x,)),
    "inside": lambda f: ag.function(ag.grad(f)),
    "vmap": lambda f: lambda x, batched=ag.vmap(f): batched(np.full(2, x)),
    "vectorize": ag.vectorize,
}


def always(x):
    raise ValueError("always")


def in_a_helper(x):
    values = [always(x) if x > 0 else x for _ in range(2)]
    return sum(values)


def in_a_loop(x):
    for i in range(3):
        if x > i:
            (lambda v: always(v))(x)
    return x


def in_a_class(x):
    class A:
        y = always(x)

    return A.y


def in_a_recursion(x):
    def down(n):
        return always(x) if n == 0 else down(n - 1)

    return down(2)


def not_staged(x):
    try:
        return float(str(x)) + always(x)
    except ValueError as error:
        raise KeyError("again") from error


@pytest.mark.parametrize("executor", ["auto", "numpy"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "plain",
    [always, in_a_helper, in_a_loop, in_a_class, in_a_recursion, not_staged],
    ids=lambda f: f.__name__,
)
def test_derivatives_and_batches(plain, way, executor):
    with settings.override(executor=executor):
        function = WAYS[way](plain)
        for _ in range(2):
            want, error = raised(plain, 1.5), raised(function, 1.5)
            assert (type(error), str(error)) == (type(want), str(want))
            here = [entry for entry in of_this_file(want) if entry[1] != "raised"]
            assert [entry for entry in of_this_file(error) if entry[1] not in ("raised", "<lambda>")] == [
                entry for entry in here if entry[1] != "<lambda>"
            ]
            if error.__cause__ is not None:
                assert want.__cause__ is not None
                assert of_this_file(error.__cause__)[-1] == of_this_file(want.__cause__)[-1]


def of_this_file(error: BaseException) -> list[tuple[int | None, str]]:
    """Line and function of each entry; all of them are of this file."""
    found = [f for f in traceback.extract_tb(error.__traceback__) if f.name != "<listcomp>"]
    found = [f for f in found if not ours(f.filename)]
    assert {f.filename for f in found} == {__file__}
    return [(f.lineno, f.name) for f in found]


def test_what_the_user_did_wrong_ends_at_the_call():
    double = ag.function(lambda x: 2 * x, input_signature=[ag.TensorSpec((2,), np.float64)])
    error = raised(double, np.ones(3))
    assert isinstance(error, ag.SignatureError)
    assert names(error) == ["raised"]
    error = raised(double, 1, 2, 3)
    assert str(error) == str(raised(double.python_function, 1, 2, 3))


def test_generated_frames_on_request():
    function = ag.function(samples.in_an_arm)
    with settings.override(show_generated_frames=True):
        shown = [f.filename for f in traceback.extract_tb(raised(function, np.int64(4)).__traceback__)]
    assert any(name.startswith("<plan in_an_arm") for name in shown)
    assert any("polymorphic.py" in name for name in shown)


def test_the_variables_can_be_looked_at_afterwards():
    error = raised(ag.function(samples.a_failed_assertion), np.float64(4.0))
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    assert frame.f_code.co_name == "a_failed_assertion"
    assert frame.f_locals["y"] == 8.0
    assert line == samples.a_failed_assertion.__code__.co_firstlineno + 2


def test_errors_that_a_program_handles_stay_as_they_are():
    """An error that was raised elsewhere, and is raised again, keeps the frames it had."""
    kept = raised(samples.check, 4.0)
    before = [f.name for f in traceback.extract_tb(kept.__traceback__)]

    def again(x):
        if x > 0:
            raise kept
        return x

    error = raised(ag.function(again), np.float64(1.0))
    assert error is kept
    assert [f.name for f in traceback.extract_tb(error.__traceback__)][-len(before) :] == before
