"""Generates straight-line programs (W16, W17) from one list of operations, in the source of
each framework."""

from __future__ import annotations

import os
import random
import sys
import tempfile

# op -> template; {a} {b} are arrays, {c} a constant.  All keep values of order one.
OPS = {
    "tanh": "{xp}.tanh({a})",
    "sin": "{xp}.sin({a})",
    "cos": "{xp}.cos({a})",
    "gauss": "{xp}.exp(-{a} * {a})",
    "sqrt": "{xp}.sqrt({abs}({a}) + {c})",
    "lin": "{c} * {a} + 0.5 * {b}",
    "sub": "{a} - {c} * {b}",
    "mul": "{a} * {b}",
    "div": "{a} / (1.0 + {b} * {b})",
    "max": "{max}({a}, {b})",
    "min": "{min}({a}, {b} + {c})",
    "where": "{xp}.where({a} > {b}, {a}, {c} * {b})",
    "center": "{a} - {mean}({a})",
    "scale": "{a} / (1.0 + {sum}({a} * {a}))",
    "range": "{a} / (1.0 + {amax}({abs}({a})))",
    "mixx": "{c} * {a} + 0.6 * x",
    "mixy": "y - {c} * {a}",
    "mixz": "{c} * {a} * x + 0.5 * y",
}
NAMES = {
    "np": {
        "xp": "np",
        "abs": "np.abs",
        "max": "np.maximum",
        "min": "np.minimum",
        "mean": "np.mean",
        "sum": "np.sum",
        "amax": "np.max",
    },
    "jnp": {
        "xp": "jnp",
        "abs": "jnp.abs",
        "max": "jnp.maximum",
        "min": "jnp.minimum",
        "mean": "jnp.mean",
        "sum": "jnp.sum",
        "amax": "jnp.max",
    },
    "tf": {
        "xp": "tf",
        "abs": "tf.abs",
        "max": "tf.maximum",
        "min": "tf.minimum",
        "mean": "tf.reduce_mean",
        "sum": "tf.reduce_sum",
        "amax": "tf.reduce_max",
    },
    "torch": {
        "xp": "torch",
        "abs": "torch.abs",
        "max": "torch.maximum",
        "min": "torch.minimum",
        "mean": "torch.mean",
        "sum": "torch.sum",
        "amax": "torch.amax",
    },
}


def op_list(n, seed, nconds, nwhiles):
    """Rows (op, da, db, c): the value before (so that nothing is dead) and an earlier one.

    Conds and whiles are spread evenly.
    """
    r = random.Random(seed)
    prog = []
    marks = {}
    total = nconds + nwhiles
    for k in range(total):
        marks[(k + 1) * n // (total + 1)] = "while" if k >= nconds else "cond"
    for i in range(n):
        if i in marks:
            prog.append((marks[i], None, None, round(r.uniform(0.2, 0.9), 3)))
        op = r.choice(list(OPS))
        prog.append((op, 1, r.randrange(2, 12), round(r.uniform(0.2, 0.9), 3)))
    return prog


def source(style, n=200, seed=1, nconds=3, nwhiles=1):
    names = NAMES[style]
    out = ["def f(x, y):", "    v0 = x", "    v1 = y"]
    i = 2
    for op, da, db, c in op_list(n, seed, nconds, nwhiles):
        last = f"v{i - 1}"
        prev = f"v{i - 2}"
        new = f"v{i}"
        if op == "cond":
            pred = "{}({}) > 0.0".format(names["mean"], last)
            yes = f"{c} * {last} + {prev}"
            no = "{a} - {c} * {xp}.tanh({b})".format(c=c, a=last, b=prev, xp=names["xp"])
            if style == "jnp":
                out.append(f"    {new} = lax.cond({pred}, lambda: {yes}, lambda: {no})")
            else:
                out += [f"    if {pred}:", f"        {new} = {yes}", "    else:", f"        {new} = {no}"]
        elif op == "while":
            pred = names["mean"] + "({w} * {w}) > 1e-3"
            step = "{!r} * {{w}} - 0.05 * {}.sin({{w}})".format(c, names["xp"])
            if style == "jnp":
                out.append(
                    "    {} = lax.while_loop(lambda w: {}, lambda w: {}, {})".format(
                        new, pred.format(w="w"), step.format(w="w"), last
                    )
                )
            else:
                out += [
                    f"    {new} = {last}",
                    f"    while {pred.format(w=new)}:",
                    f"        {new} = {step.format(w=new)}",
                ]
            out.append(f"    v{i + 1} = {new} + 0.5 * {prev}")
            i += 1
        else:
            a, b = f"v{max(0, i - da)}", f"v{max(0, i - db)}"
            out.append(f"    {new} = {OPS[op].format(a=a, b=b, c=c, **names)}")
        i += 1
    out.append(f"    return v{i - 1} + v{i - 2}")
    return "\n".join(out) + "\n"


def load(style, **kw):
    """The generated function, from a real file: AutoGraph and linecache want its source."""
    import importlib.util

    head = {
        "np": "import numpy as np\n",
        "jnp": "import jax.numpy as jnp\nfrom jax import lax\n",
        "tf": "import tensorflow as tf\n",
        "torch": "import torch\n",
    }[style]
    fd, path = tempfile.mkstemp(suffix=f"_{style}.py", prefix="gen_")
    with os.fdopen(fd, "w") as f:
        f.write(head + "\n\n" + source(style, **kw))
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    mod = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = mod
    spec.loader.exec_module(mod)
    import atexit

    atexit.register(lambda: os.path.exists(path) and os.unlink(path))
    return mod.f
