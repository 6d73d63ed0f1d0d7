"""The public functions of differentiation: those of `runtime.autodiff`, on converted functions.

In: Python functions, also those made by `ag.function`.  Out: functions that give derivatives.
What always holds: the function runs eagerly, as Python, on boxes; it is converted first where its source
is at hand, so that calls which would lose a derivative (`float(x)`, `np.array([x, y])`, `math.sin(x)`,
writes into `np.zeros(n)`) keep it; where it can't be converted it runs as it stands.
"""

from __future__ import annotations

import collections
import functools
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from autograph.api import explain, source_tracer
from autograph.explain import Explanation
from autograph.operators.calls import call
from runtime.autodiff import check, custom, transforms
from runtime.autodiff.staged.callables import (
    Derivative,
    Flat,
    GradientFunction,
    Hessian,
    Jacobian,
    Pull,
    Push,
)
from runtime.autodiff.staged.kinds import check_argnums
from runtime.autodiff.tape import GradientTape
from runtime.autodiff.transforms import ArgNums, stop_gradient
from runtime.errors import GradientError, check_function
from runtime.execute.traceback import cleaning
from runtime.functional import check_stretch
from runtime.trace.core import active
from runtime.trace.values import Traced

Function = Callable[..., Any]


def _on_tape(function: Function) -> Function:
    """The function as it runs while a level is open."""
    check_function(function, "a derivative")

    def run(*args: Any, **kwargs: Any) -> Any:
        return call(function, *args, **kwargs)

    run.runs_on_trace_values = True  # type: ignore[attr-defined]
    return run if isinstance(function, Traced) else functools.wraps(function, updated=())(run)


def grad(
    f: Function,
    argnums: ArgNums = 0,
    has_aux: bool = False,
    checkpoint_every: int | str | None = None,
    unconnected: str = "zero",
) -> Function:
    """The gradient of a function of one real result: of the shape, dtype and containers of its argument.

    f: what it gives is one real float, a Python number, NumPy scalar or 0-d array.  The arguments by which it
        is differentiated hold floats or complex numbers (of those: `df/dx + i df/dy`); None comes out at
        leaves of other kinds.
    argnums: the positional argument to differentiate by, or a sequence of them (then a tuple comes out).
    has_aux: f gives `(value, aux)`; the new function gives `(gradient, aux)`.
    checkpoint_every: how much loops keep for the way back: their state after so many trips (the trips
        between are run again), or "sqrt" for the square root of the number of trips; None: what each trip
        needs.  The results are the same.
    unconnected: what stands in the place of what the result does not depend on: "zero" for zeros, or "none"
        for None, which is not the same.
    Raises GradientError where there is no derivative, from the call of the new function.

    >>> import numpy as np
    >>> grad(lambda x: (x ** 3).sum())(np.array([1.0, 2.0]))
    array([ 3., 12.])
    """
    return _derivative(f, argnums, has_aux, False, checkpoint_every, unconnected)


def value_and_grad(
    f: Function,
    argnums: ArgNums = 0,
    has_aux: bool = False,
    checkpoint_every: int | str | None = None,
    unconnected: str = "zero",
) -> Function:
    """As `grad`, with the value first: `(value, gradient)`, or `((value, aux), gradient)`.

    >>> value_and_grad(lambda x: x * x)(3.0)
    (9.0, 6.0)
    """
    return _derivative(f, argnums, has_aux, True, checkpoint_every, unconnected)


KEPT = 16  # derivatives that are found again when they are asked for again
REMADE = 4  # functions of the same code whose derivatives get graphs
_lately: dict[Any, Derivative] = {}
_remade: weakref.WeakKeyDictionary[types.CodeType, collections.Counter[Any]] = weakref.WeakKeyDictionary()


def _eager(f: Function, argnums: ArgNums, has_aux: bool, with_value: bool, unconnected: str) -> Function:
    """The gradient on the tape."""
    on_tape = transforms.value_and_grad if with_value else transforms.grad
    return cleaning(on_tape(_on_tape(f), argnums, has_aux, unconnected))


def _derivative(
    f: Function,
    argnums: ArgNums,
    has_aux: bool,
    with_value: bool,
    every: int | str | None,
    unconnected: str,
) -> Derivative:
    """The gradient, as a callable with graphs."""
    check_stretch(every)
    eager = lambda: _eager(f, argnums, has_aux, with_value, unconnected)  # noqa: E731
    again = lambda f: _derivative(f, argnums, has_aux, with_value, every, unconnected)  # noqa: E731
    return _made(Derivative, f, eager, again, argnums, has_aux, with_value, every, unconnected)


def _made(
    cls: type[Derivative],
    f: Function,
    on_tape: Callable[[], Function],
    again: Callable[[Function], Function],
    argnums: ArgNums,
    has_aux: bool = False,
    with_value: bool = False,
    every: int | str | None = None,
    unconnected: str = "zero",
) -> Derivative:
    """A derivative of some class; the same one again while it is among those used lately.

    again: makes the same of a function that is known when a graph runs."""
    if unconnected not in ("zero", "none"):
        raise ValueError(f'unconnected is "zero" or "none", not {unconnected!r}')
    check_argnums(argnums)
    if active() is not None:
        eager = f if isinstance(f, Traced) else on_tape()
        made = cls(f, eager, argnums, has_aux, with_value, None, every, unconnected)
        made.again = again
        return made
    named = (id(f.__self__), id(f.__func__)) if isinstance(f, types.MethodType) else id(f)
    numbers = argnums if isinstance(argnums, int) else tuple(argnums)
    key = (named, cls, numbers, has_aux, with_value, every, unconnected)
    known = _lately.get(key)
    if known is None or not (known.f is f or isinstance(f, types.MethodType) and known.f == f):
        compiler = None if _often_remade(f, key[1:]) else _compiled
        known = cls(f, on_tape(), argnums, has_aux, with_value, compiler, every, unconnected)
        known.explainer = _explained
    _lately.pop(key, None)
    _lately[key] = known
    while len(_lately) > KEPT:
        _lately.pop(next(iter(_lately)), None)
    return known


def _explained(derivative: Derivative) -> Explanation:
    return explain(derivative)


def _often_remade(f: Function, asked: Any) -> bool:
    """Whether the function is one of many of the same code that the same is asked of, a lambda in a loop for
    one: tracing each of them would take longer than the tape does."""
    code = getattr(f, "__code__", None)
    if not isinstance(f, types.FunctionType) or code is None:
        return False
    counts = _remade.setdefault(code, collections.Counter())
    counts[asked] += 1
    return counts[asked] > REMADE


def _compiled(derivative: Derivative, flat: Flat) -> GradientFunction:
    """The function with graphs of a derivative whose arguments are of some structure."""
    return GradientFunction(
        flat, source_tracer(flat), inline=_inlined, reduce_retracing=derivative.generalises
    )


def _inlined(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return function(*args, **kwargs)


@cleaning
def vjp(f: Function, *primals: Any, has_aux: bool = False, unconnected: str = "zero") -> Any:
    """`(value, pull_back)`: the value at the primals, and the function from cotangents of the value to a
    tuple of cotangents of the primals.

    f: what it gives is any tree of arrays and numbers; a cotangent has its structure and shapes.
    has_aux: f gives `(value, aux)`, and aux comes out third.  unconnected: as in `grad`.
    Raises GradientError for a cotangent of another structure or shape.

    >>> value, pull_back = vjp(lambda x, y: x * y, 3.0, 2.0)
    >>> value, pull_back(1.0)
    (6.0, (2.0, 3.0))
    """

    def on_tape() -> Function:
        run = cleaning(transforms.vjp)
        return functools.partial(run, _on_tape(f), has_aux=has_aux, unconnected=unconnected)

    numbers = tuple(range(len(primals)))
    again = lambda f: functools.partial(vjp, f, has_aux=has_aux, unconnected=unconnected)  # noqa: E731
    made = _made(Pull, f, on_tape, again, numbers, has_aux, unconnected=unconnected)
    assert isinstance(made, Pull)
    return made(*primals) if active() is not None else made.result(made(*primals))


@cleaning
def jvp(f: Function, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """`(value, change)`: the value at the primals and its derivative along the tangents, in one forward run.

    primals, tangents: tuples with one entry for each argument of f; a tangent has the shape of its primal
        (else GradientError).

    >>> jvp(lambda x: x * x, (3.0,), (1.0,))
    (9.0, 6.0)
    """
    for what, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list, Traced)):
            raise GradientError(
                f"the {what} of ag.jvp are one value, of type {type(given).__name__}",
                fix="put one per argument into a tuple: (x,)",
            )
    on_tape = lambda: functools.partial(cleaning(transforms.jvp), _on_tape(f))  # noqa: E731
    made = _made(Push, f, on_tape, lambda f: functools.partial(jvp, f), (0, 1))
    done: tuple[Any, Any] = made(tuple(primals), tuple(tangents))
    return done


def jacobian(f: Function, argnums: ArgNums = 0) -> Function:
    """All derivatives of an array result: arrays of the result's shape followed by the argument's.

    argnums: as in `grad`.  Where the result is a tree, so is what comes out, with a Jacobian at each leaf.

    >>> import numpy as np
    >>> jacobian(lambda x: x[:2] * x[2])(np.array([1.0, 2.0, 3.0]))
    array([[3., 0., 1.],
           [0., 3., 2.]])
    """
    on_tape = lambda: cleaning(transforms.jacobian(_on_tape(f), argnums))  # noqa: E731
    return _made(Jacobian, f, on_tape, lambda f: jacobian(f, argnums), argnums)


def hessian(f: Function, argnums: ArgNums = 0) -> Function:
    """The second derivatives of a function of one real result: the argument's shape, twice.

    argnums: as in `grad`; several give a tuple of tuples.

    >>> import numpy as np
    >>> hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
    array([[4., 2.],
           [2., 0.]])
    """
    on_tape = lambda: cleaning(transforms.hessian(_on_tape(f), argnums))  # noqa: E731
    return _made(Hessian, f, on_tape, lambda f: hessian(f, argnums), argnums)


def custom_gradient(f: Function) -> Function:
    """A function that brings its own derivative: f gives `(value, pull_back)`.

    `pull_back(ct)` takes the cotangent of the value and gives those of the arguments: a tuple, or the one;
    None where there is none.  A decorator.  Calls raise GradientError where f gives something else.

    >>> @custom_gradient
    ... def clipped(x):  # the gradient goes on at most as 1
    ...     return x * x, lambda ct: min(2 * x, 1.0) * ct
    >>> grad(clipped)(3.0)
    1.0
    """
    return custom.custom_gradient(_on_tape(f))


def checkpoint(f: Function) -> Function:
    """The same function with a derivative that takes memory for its arguments only: f runs again for it.

    f must give the same result when it is run again, and its followed values must be arguments
    (GradientError).  A decorator.

    >>> grad(checkpoint(lambda x: x * x))(3.0)
    6.0
    """
    return custom.checkpoint(_on_tape(f))


# While a function is traced these run at once: what they return is traced into.
_TRACED: tuple[Any, ...] = (grad, value_and_grad, vjp, jvp, jacobian, hessian, custom_gradient, checkpoint)
for _function in _TRACED:
    _function.runs_on_trace_values = True


def check_grads(
    f: Function,
    args: Sequence[Any],
    order: int = 1,
    modes: Sequence[str] = ("forward", "reverse"),
    **options: Any,
) -> None:
    """Compare the derivatives of f at args with finite differences; raises CheckError where they differ.

    args: a tuple.  order: up to which derivative.  modes: "forward", "reverse" or both.
    options: eps (how far the arguments are moved), rtol, atol (how far the two may be apart; wider where
        there are float32s), seed (of the random directions).

    >>> check_grads(lambda x: x * x, (3.0,), order=2)
    """
    check.check_grads(_on_tape(f), args, order, modes, **options)


__all__ = [
    "GradientTape",
    "check_grads",
    "checkpoint",
    "custom_gradient",
    "grad",
    "hessian",
    "jacobian",
    "jvp",
    "stop_gradient",
    "value_and_grad",
    "vjp",
]
