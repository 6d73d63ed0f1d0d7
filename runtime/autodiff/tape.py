"""`GradientTape`: derivatives of what runs inside a `with` block.

In: arrays and numbers that are watched.  Out: gradients of anything computed from them.  What always
holds: a value that doesn't depend on a source has gradient None, which is not the same as zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime import tree
from runtime.autodiff.box import BOXES, Box, unwrap
from runtime.autodiff.dispatch import Surface
from runtime.autodiff.levels import Active, at_level, bare, is_inexact
from runtime.autodiff.reverse import Reverse, backward
from runtime.autodiff.transforms import conjugate, given, ones, out, zeros
from runtime.autodiff.variables import current
from runtime.errors import GradientError
from runtime.variable import Variable


class GradientTape:
    """Records what is done to watched values, for `gradient` and `jacobian`.

    persistent: gradients may be asked for several times.
    watch_accessed_variables: watch each `Variable` of floats when it is first read.

    >>> import numpy as np
    >>> with GradientTape() as tape:
    ...     x = tape.watch(np.array([1.0, 2.0]))
    ...     y = (x * x).sum()
    >>> tape.gradient(y, x)
    array([2., 4.])
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent, self._used = persistent, False
        self._level = Reverse(Surface)
        self._inputs: dict[int, tuple[Box, Active]] = {}
        self._variables: dict[int, tuple[Variable, Active]] = {}
        self._watches_variables = watch_accessed_variables

    def __enter__(self) -> GradientTape:
        if self._level.closed:
            raise GradientError("a GradientTape was entered a second time", fix="make a new one")
        self._level.__enter__()
        if self._watches_variables:
            current().watchers.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        if self._watches_variables:
            current().watchers.remove(self)
        self._level.__exit__(*error)

    def watch_variable(self, variable: Variable, box: Box) -> None:
        """Follow a Variable, whose value is in the box, from its first read on."""
        if id(variable) not in self._variables:
            value = box.read()
            active = self._level.input(value.copy() if isinstance(value, np.ndarray) else value)
            box.promote(active)
            self._variables[id(variable)] = variable, active

    def watch(self, x: Any) -> Any:
        """The values (in nested containers), followed from here on: compute with what this returns.

        A value that another tape follows already is followed by both, wherever it is used."""
        return tree.map_data(self._watch, x)

    def _watch(self, x: Any) -> Any:
        if isinstance(x, Variable) and not self._level.closed:
            self.watch_variable(x, current().read(x))
            return x
        if self._level.closed:
            raise GradientError(
                "a value is watched after the tape's block", fix="watch inside the `with` block"
            )
        value = unwrap(x)
        if not is_inexact(value):
            kind = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
            raise GradientError(
                f"the tape can't watch {kind}",
                why="derivatives are with respect to floats and complex numbers",
                fix="watch an array of floats",
            )
        active = self._level.input(value.copy() if isinstance(value, np.ndarray) else value)
        if type(x) in BOXES and not x.is_view:
            x.promote(active)
            made = x
        else:
            made = Box(active)
        self._inputs[made.identity] = made, active
        return made

    def _source(self, x: Any) -> Active | None:
        if isinstance(x, Variable):
            found = self._variables.get(id(x))
            return None if found is None else found[1]
        if type(x) not in BOXES:
            return None
        known = self._inputs.get(x.identity)
        return known[1] if known is not None else at_level(x.read(), self._level)

    def _begin(self) -> None:
        if self._used and not self._persistent:
            raise GradientError(
                "the tape was asked for a second time",
                why="it is not persistent",
                fix="use GradientTape(persistent=True)",
            )
        self._used = True

    def gradient(self, target: Any, sources: Any, output_gradients: Any = None) -> Any:
        """The gradient of the (summed) target, in the structure of the sources; None where unconnected."""
        self._begin()
        leaves, _ = tree.flatten_data(target)
        cts = [None] * len(leaves) if output_gradients is None else tree.flatten_data(output_gradients)[0]
        seeds = []
        for leaf, ct in zip(leaves, cts, strict=True):
            value = unwrap(leaf)
            live = at_level(value, self._level)
            if live is not None:
                start = ones(value) if ct is None else conjugate(given(ct, value, "output gradient"))
                seeds.append((live, start))
        asked, structure = tree.flatten_data(sources)
        found = [self._source(x) for x in asked]
        back = iter(backward(self._level, seeds, [x for x in found if x is not None], Surface.add))
        made = []
        for source in found:
            ct = None if source is None else next(back)
            made.append(None if ct is None or source is None else out(conjugate(ct), source))
        return tree.unflatten(structure, made)

    def jacobian(self, target: Any, sources: Any) -> Any:
        """The derivatives of every element of the target, an array; None where unconnected."""
        self._begin()
        value = unwrap(target)
        live = at_level(value, self._level)
        asked, structure = tree.flatten_data(sources)
        found = [self._source(x) for x in asked]
        wanted = [x for x in found if x is not None]
        shape = np.shape(bare(value))
        rows: list[list[Any]] = [[] for _ in wanted]
        for index in np.ndindex(shape):
            unit = zeros(value) if shape else ones(value)
            if shape:
                unit[index] = 1
            cts = backward(self._level, [] if live is None else [(live, unit)], wanted, Surface.add)
            for row, ct in zip(rows, cts, strict=True):
                row.append(ct)
        made = iter([self._stack(row, shape, x) for row, x in zip(rows, wanted, strict=True)])
        return tree.unflatten(structure, [None if x is None else next(made) for x in found])

    @staticmethod
    def _stack(row: list[Any], shape: tuple[int, ...], x: Active) -> Any:
        if all(ct is None for ct in row):
            return None
        parts = [out(conjugate(zeros(x) if ct is None else ct), x) for ct in row]
        return np.reshape(np.stack(parts), (*shape, *np.shape(bare(x))))
