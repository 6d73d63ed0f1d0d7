"""`ag.vmap` on random programs over arrays: bit for bit what the items give one by one, stacked."""

from __future__ import annotations

import importlib.util
import random
import warnings

import numpy as np
import pytest

import autograph as ag

PROGRAMS = 8  # of each seed


class Maker:
    """Writes functions of a row `x`, shared `w` and `m`, and a flag."""

    def __init__(self, seed):
        self.pick = random.Random(seed)

    def vector(self, depth):
        if depth == 0:
            return self.pick.choice(["x", "w", "v"])
        v, s, m = (lambda: self.vector(depth - 1)), (lambda: self.scalar(depth - 1)), self.matrix(depth - 1)
        return self.pick.choice([
            f"({v()} {self.pick.choice('+-*/')} {v()})",
            f"({v()} {self.pick.choice('+-*/')} {s()})",
            f"np.{self.pick.choice(['tanh', 'exp', 'abs', 'sqrt', 'square', 'sort', 'cumsum'])}({v()})",
            f"np.where({v()} > {s()}, {v()}, {s()})",
            f"({v()} @ m)",
            f"({m}).sum(axis={self.pick.choice([0, 1, -1])})",
            f"{v()}[::-1]",
            f"({m})[{self.pick.choice([0, -1, 2])}]",
            f"np.concatenate([{v()}[:2], {v()}[2:]])",
        ])  # fmt: skip

    def scalar(self, depth):
        if depth == 0:
            return self.pick.choice(["x[0]", "2", "0.5", "s", "w[1]"])
        v, m = self.vector(depth - 1), self.matrix(depth - 1)
        return self.pick.choice([
            f"{v}.{self.pick.choice(['sum', 'mean', 'max', 'std', 'prod', 'argmax'])}()",
            f"({v} @ {self.vector(depth - 1)})",
            f"({self.scalar(depth - 1)} {self.pick.choice('+-*')} {self.scalar(depth - 1)})",
            f"({m}).{self.pick.choice(['sum', 'mean', 'max'])}()",
        ])  # fmt: skip

    def matrix(self, depth):
        if depth <= 0:
            return "m"
        m = self.matrix(depth - 1)
        v = self.vector(depth - 1)
        return self.pick.choice([f"({v}[:, None] * {v})", f"({m} + {v})", f"({m} @ {m})", f"({m}).T"])

    def block(self, indent, depth=2):
        pad, out = "    " * indent, []
        for _ in range(self.pick.randint(1, 3)):
            kind = self.pick.random()
            if kind < 0.5 or depth == 0:
                out.append(f"{pad}v = {self.vector(2)}")
            elif kind < 0.65:
                out.append(f"{pad}s = {self.scalar(2)}")
            elif kind < 0.8:
                out += [f"{pad}for k in range({self.pick.choice([2, 30])}):", f"{pad}    v = v * 0.5 + x"]
            elif kind < 0.9:
                test = self.pick.choice(["w.sum() > 0", "flag", "x.sum() > 0"])
                out += [f"{pad}if {test}:", *self.block(indent + 1, 0)]
                out += [f"{pad}else:", *self.block(indent + 1, 0)]
            else:
                out += [f"{pad}v = v.copy()", f"{pad}v[0] = {self.scalar(1)}"]
        return out

    def program(self):
        lines = ["import numpy as np", "", "", "def f(x, w, m, flag):", "    s, v = w[0], x", *self.block(1)]
        return "\n".join([*lines, f"    return {self.vector(1)}, {self.scalar(1)} + 0.0", ""])


def look(result):
    return [(part.dtype, part.shape, np.nan_to_num(part).tobytes()) for part in result]


@pytest.mark.parametrize("seed", range(3))
def test_items_together_are_items_alone(seed, tmp_path):
    maker, draw = Maker(seed), np.random.default_rng(seed)
    n = (4, 5, 67)[seed]
    shared = draw.normal(size=n), draw.normal(size=(n, n)) * 0.3
    together = 0
    for k in range(PROGRAMS):
        path = tmp_path / f"program_{seed}_{k}.py"
        path.write_text(maker.program())
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        v = ag.vmap(module.f, in_axes=(0, None, None, None))
        for dtype in (np.float64, np.float32):
            rows, w, m = (a.astype(dtype) for a in (draw.normal(size=(9, n)), *shared))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                alone = [module.f(row, w, m, True) for row in rows]
                expected = look([np.stack(parts) for parts in zip(*alone, strict=True)])
                assert look(v(rows, w, m, True)) == expected, path.read_text()
            together += not v.not_together
    assert together >= PROGRAMS // 2
