"""Wrong uses of the public functions: refused where they are made, in words that name what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import autograph as ag
from autograph.data import Dataset

X = np.arange(3.0)
ROWS = Dataset.from_arrays(X)


def same(x: Any) -> Any:
    return x


# What is done, and a part of the text of the TypeError or ValueError.
WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: ag.function(same, strict="yes"), "strict is True or False, not 'yes'"),
    (lambda: ag.function(same, check=1), "check is True or False, not 1"),
    (lambda: ag.function(same, reduce_retracing=None), "reduce_retracing is True or False"),
    (
        lambda: ag.function(same, input_signature=3),
        "input_signature is a tuple, list or dict of specs, not 3",
    ),
    (
        lambda: ag.function(same, input_signature=[1, 2]),
        "is for 2 arguments, but same",
    ),
    (
        lambda: ag.function(same).get_concrete_function(),
        "can't be called so: missing a required argument: 'x'",
    ),
    (
        lambda: ag.function(same).get_concrete_function(X, X),
        "can't be called so: too many positional arguments",
    ),
    (lambda: ag.do_not_convert(3), "do_not_convert takes a function, not a value of type int"),
    (lambda: ag.grad(3), "a derivative takes a function, not a value of type int"),
    (lambda: ag.custom_gradient(3), "takes a function"),
    (lambda: ag.checkpoint("f"), "takes a function, not a value of type str"),
    (lambda: ag.grad(same, argnums="x"), "argnums is an integer or a tuple of integers, not 'x'"),
    (lambda: ag.grad(same, argnums=1.5), "not 1.5"),
    (lambda: ag.grad(same, argnums=(0, 0))(1.0), "argnums=(0, 0) names an argument twice"),
    (lambda: ag.jacobian(same, argnums=(0, -1))(X), "argnums=(0, -1) names an argument twice"),
    (lambda: ag.function(lambda x: ag.grad(same, (0, -1))(x))(1.0), "names an argument twice"),
    (
        lambda: ag.hessian(same, argnums=2)(1.0),
        "argnums=2 names no argument: the call has 1 positional argument\n",
    ),
    (lambda: ag.grad(same, has_aux=True)(1.0), "a pair (value, aux) under has_aux=True, not float"),
    (lambda: ag.jvp(same, X, X), "the primals of ag.jvp are one value, of type ndarray"),
    (lambda: ag.jvp(same, (X,), X), "the tangents of ag.jvp are one value"),
    (lambda: ag.check_grads(same, X), "args is a tuple of the arguments, (x,), not a value of type ndarray"),
    (lambda: ag.check_grads(same, (X,), order=0), "order is a number of derivatives, 1 or more, not 0"),
    (lambda: ag.check_grads(same, (X,), modes=("back",)), "modes is a tuple of"),
    (lambda: ag.vectorize(3), "vectorize takes a function"),
    (lambda: ag.vectorize(same, excluded="x"), "excluded is a set of positions and names, not 'x'"),
    (lambda: ag.vmap(3), "vmap takes a function"),
    (
        lambda: ag.vmap(same, in_axes="x")(X),
        "an axis of vmap is an integer, or None for what all items share",
    ),
    (lambda: ag.switch_case(0, [same, 3], (X,)), "branch 1 of switch_case takes a function"),
    (lambda: ag.scan(3, 0, X), "scan takes a function"),
    (lambda: ag.map_fn(3, X), "map_fn takes a function"),
    (lambda: ag.py_function(3, X), "py_function takes a function"),
    (lambda: ag.TensorSpec.from_array([1]), "from_array takes an array, not a value of type list"),
    (lambda: Dataset(3), "Dataset takes a function"),
    (lambda: Dataset.from_arrays(3), "arrays of one length are needed, these have the shapes ()"),
    (lambda: Dataset.from_arrays((X, X[:2])), "these have the shapes (3,), (2,)"),
    (lambda: Dataset.from_arrays(()), "shapes of none"),
    (lambda: Dataset.from_generator(3), "from_generator takes a function"),
    (lambda: ROWS.map(3), "map takes a function"),
    (lambda: ROWS.filter(3), "filter takes a function"),
    (lambda: ROWS.batch(1.5), "the size of a batch must be an integer, not 1.5"),
    (lambda: ROWS.repeat("2"), "the number of repetitions must be an integer, not '2'"),
    (lambda: ROWS.repeat(-1), "the number of repetitions is -1, but must be 0 or more"),
    (lambda: ROWS.take("2"), "the number of elements to take must be an integer"),
    (lambda: ROWS.skip(None), "the number of elements to skip must be an integer"),
    (lambda: ROWS.shuffle("2"), "the buffer must be an integer"),
    (lambda: ROWS.prefetch(0.5), "the number of elements to prefetch must be an integer"),
]


@pytest.mark.parametrize(("wrong", "text"), WRONG, ids=[text[:40] for _, text in WRONG])
def test_wrong_use_is_refused(wrong: Callable[[], Any], text: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        wrong()
    assert text in str(caught.value)


def test_the_gradient_by_no_argument() -> None:
    assert ag.grad(same, argnums=())(1.0) == () and ag.value_and_grad(same, argnums=())(1.0) == (1.0, ())
