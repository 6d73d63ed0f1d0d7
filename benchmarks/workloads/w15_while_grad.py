"""Reverse mode through a while loop of unknown length: Euler's method with a step that depends
on the state; the gradient of |y(T)|^2 with respect to y(0) and the matrix A."""

from __future__ import annotations

import numpy as np

TITLE = "while_grad adaptive Euler, dim 32 f64"
RTOL, ATOL = 1e-7, 1e-10
N, T_END, DT = 32, 10.0, 0.15
BOUND = 256  # for those that need one
DIRECT = True
TORCH_GRAD = True
UNSUPPORTED = {
    "numba": "no automatic differentiation; numba:manual is the adjoint by hand",
    "numexpr": "no automatic differentiation",
}
NOTES = {
    "jax:scan": f"needs a bound on the trip count ({BOUND})",
    "jax:ckpt": "bounded scan in checkpointed chunks",
    "tf_xla": "needs maximum_iterations",
    "numba:manual": "adjoint written by hand, not autodiff",
}
SKIP = ("numexpr", "numba_par", "torch_np")


def inputs(seed):
    r = np.random.default_rng(seed)
    return (r.standard_normal(N), 1.5 * r.standard_normal((N, N)) / np.sqrt(N))


def plain(y0, a):
    """The forward loop with a tape, then the adjoint by hand."""
    ys, ks, ss, dts, zs = [], [], [], [], []
    y = y0
    t = 0.0
    clipped = False
    while t < T_END:
        z = np.tanh(a @ y)
        k = z - 0.5 * y
        s = np.sqrt(np.mean(k * k))
        dt = DT / (1.0 + s)
        if t + dt > T_END:
            dt = T_END - t
            clipped = True
        ys.append(y)
        ks.append(k)
        ss.append(s)
        dts.append(dt)
        zs.append(z)
        y = y + dt * k
        t = t + dt
        if clipped:
            break
    loss = np.sum(y * y)
    yb = 2.0 * y
    tb = 0.0
    ab = np.zeros_like(a)
    for i in range(len(ys) - 1, -1, -1):
        y, k, s, dt, z = ys[i], ks[i], ss[i], dts[i], zs[i]
        dtb = np.sum(yb * k) + tb
        kb = dt * yb
        if clipped and i == len(ys) - 1:
            tb = tb - dtb
        else:
            kb = kb - dtb * DT / (1.0 + s) ** 2 * k / (N * s)
        zb = kb * (1.0 - z * z)
        ab += np.outer(zb, y)
        yb = yb - 0.5 * kb + zb @ a
    return loss, yb, ab


def make_jax():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def loss(y0, a):
        def body(c):
            t, y = c
            k = jnp.tanh(a @ y) - 0.5 * y
            dt = DT / (1.0 + jnp.sqrt(jnp.mean(k * k)))
            dt = jnp.where(t + dt > T_END, T_END - t, dt)
            return t + dt, y + dt * k

        y = lax.while_loop(lambda c: c[0] < T_END - 1e-13, body, (0.0, y0))[1]
        return jnp.sum(y * y)

    def f(y0, a):
        v, g = jax.value_and_grad(loss, (0, 1))(y0, a)
        return (v,) + g

    return f


def _jax_bounded(chunk):
    import jax
    import jax.numpy as jnp
    from jax import lax

    def loss(y0, a):
        def step(c, _):
            t, y = c
            k = jnp.tanh(a @ y) - 0.5 * y
            dt = DT / (1.0 + jnp.sqrt(jnp.mean(k * k)))
            dt = jnp.where(t + dt > T_END, T_END - t, dt)
            live = t < T_END - 1e-13
            return (jnp.where(live, t + dt, t), jnp.where(live, y + dt * k, y)), None

        if not chunk:
            (t, y), _ = lax.scan(step, (0.0, y0), None, length=BOUND)
            return jnp.sum(y * y)

        def steps(c, _):
            def go(c):
                return lax.scan(step, c, None, length=chunk)[0]

            return lax.cond(c[0] < T_END - 1e-13, go, lambda c: c, c), None

        (t, y), _ = lax.scan(jax.checkpoint(steps), (0.0, y0), None, length=BOUND // chunk)
        return jnp.sum(y * y)

    def f(y0, a):
        v, g = jax.value_and_grad(loss, (0, 1))(y0, a)
        return (v,) + g

    return f


def make_jax_scan():
    return _jax_bounded(0)


def make_jax_ckpt():
    return _jax_bounded(16)


def make_tf():
    import tensorflow as tf

    def f(y0, a):
        with tf.GradientTape() as tape:
            tape.watch([y0, a])
            y = y0
            t = tf.constant(0.0, tf.float64)
            while t < T_END - 1e-13:
                k = tf.tanh(tf.linalg.matvec(a, y)) - 0.5 * y
                dt = DT / (1.0 + tf.sqrt(tf.reduce_mean(k * k)))
                dt = tf.where(t + dt > T_END, T_END - t, dt)
                y = y + dt * k
                t = t + dt
            loss = tf.reduce_sum(y * y)
        gy, ga = tape.gradient(loss, [y0, a])
        return loss, gy, ga

    return f


def make_tf_xla():
    """XLA needs the bound: the tensor lists of the backward loop have a static size."""
    import tensorflow as tf

    def f(y0, a):
        with tf.GradientTape() as tape:
            tape.watch([y0, a])
            y = y0
            t = tf.constant(0.0, tf.float64)
            while t < T_END - 1e-13:
                tf.autograph.experimental.set_loop_options(maximum_iterations=BOUND)
                k = tf.tanh(tf.linalg.matvec(a, y)) - 0.5 * y
                dt = DT / (1.0 + tf.sqrt(tf.reduce_mean(k * k)))
                dt = tf.where(t + dt > T_END, T_END - t, dt)
                y = y + dt * k
                t = t + dt
            loss = tf.reduce_sum(y * y)
        gy, ga = tape.gradient(loss, [y0, a])
        return loss, gy, ga

    return f


def _torch_step(torch):
    def step(t, y, a):
        k = torch.tanh(a @ y) - 0.5 * y
        dt = DT / (1.0 + torch.sqrt((k * k).mean()))
        dt = torch.where(t + dt > T_END, T_END - t, dt)
        return t + dt, y + dt * k

    return step


def _torch_run(torch, step):
    def f(y0, a0):
        y0 = y0.detach().requires_grad_()
        a = a0.detach().requires_grad_()
        y = y0
        t = torch.zeros((), dtype=torch.float64)
        while t < T_END - 1e-13:
            t, y = step(t, y, a)
        loss = (y * y).sum()
        gy, ga = torch.autograd.grad(loss, (y0, a))
        return loss.detach(), gy, ga

    return f


def make_torch():
    import torch

    return _torch_run(torch, _torch_step(torch))


def make_torch_compile():
    import torch

    from benchmarks.peers import ready

    return ready(_torch_run(torch, torch.compile(_torch_step(torch), dynamic=False)))


def make_torch_compile_while():
    import torch
    from torch._higher_order_ops.while_loop import while_loop

    from benchmarks.peers import ready

    step = _torch_step(torch)

    @torch.compile(dynamic=False)
    def loss_fn(y0, a):
        def cond(t, y):
            return t < T_END - 1e-13

        def body(t, y):
            return step(t, y, a)

        t, y = while_loop(cond, body, (torch.zeros((), dtype=torch.float64), y0))
        return (y * y).sum()

    def f(y0, a0):
        y0 = y0.detach().requires_grad_()
        a = a0.detach().requires_grad_()
        loss = loss_fn(y0, a)
        gy, ga = torch.autograd.grad(loss, (y0, a))
        return loss.detach(), gy, ga

    return ready(f)


def make_autograd():
    import autograd.numpy as anp
    from autograd import value_and_grad

    def loss(p):
        y, a = p
        t = 0.0
        while t < T_END - 1e-13:
            k = anp.tanh(anp.dot(a, y)) - 0.5 * y
            dt = DT / (1.0 + anp.sqrt(anp.mean(k * k)))
            if t + dt > T_END:
                dt = T_END - t
            y = y + dt * k
            t = t + dt
        return anp.sum(y * y)

    vg = value_and_grad(loss)

    def f(y0, a):
        v, (gy, ga) = vg((y0, a))
        return np.float64(v), gy, ga

    return f


def make_numba_manual():  # noqa: C901 - by hand, all in one
    import numba

    @numba.njit(fastmath=True, error_model="numpy")
    def f(y0, a):  # noqa: C901 - as the experts write it
        n = y0.size
        cap = 64
        ys = np.empty((cap, n))
        ks = np.empty((cap, n))
        zs = np.empty((cap, n))
        ss = np.empty(cap)
        dts = np.empty(cap)
        y = y0.copy()
        t = 0.0
        cnt = 0
        clipped = False
        while t < T_END:
            if cnt == cap:
                ys = np.concatenate((ys, np.empty((cap, n))))
                ks = np.concatenate((ks, np.empty((cap, n))))
                zs = np.concatenate((zs, np.empty((cap, n))))
                ss = np.concatenate((ss, np.empty(cap)))
                dts = np.concatenate((dts, np.empty(cap)))
                cap *= 2
            q = 0.0
            for i in range(n):
                s = 0.0
                for j in range(n):
                    s += a[i, j] * y[j]
                z = np.tanh(s)
                k = z - 0.5 * y[i]
                zs[cnt, i] = z
                ks[cnt, i] = k
                q += k * k
            ys[cnt] = y
            ss[cnt] = np.sqrt(q / n)
            dt = DT / (1.0 + ss[cnt])
            if t + dt > T_END:
                dt = T_END - t
                clipped = True
            dts[cnt] = dt
            for i in range(n):
                y[i] += dt * ks[cnt, i]
            t += dt
            cnt += 1
            if clipped:
                break
        loss = 0.0
        yb = np.empty(n)
        for i in range(n):
            loss += y[i] * y[i]
            yb[i] = 2.0 * y[i]
        ab = np.zeros_like(a)
        kb = np.empty(n)
        zb = np.empty(n)
        tb = 0.0
        for c in range(cnt - 1, -1, -1):
            dtb = tb
            for i in range(n):
                dtb += yb[i] * ks[c, i]
                kb[i] = dts[c] * yb[i]
            if clipped and c == cnt - 1:
                tb -= dtb
            else:
                w = dtb * DT / (1.0 + ss[c]) ** 2 / (n * ss[c])
                for i in range(n):
                    kb[i] -= w * ks[c, i]
            for i in range(n):
                zb[i] = kb[i] * (1.0 - zs[c, i] * zs[c, i])
                yb[i] -= 0.5 * kb[i]
            for i in range(n):
                for j in range(n):
                    ab[i, j] += zb[i] * ys[c, j]
                    yb[j] += zb[i] * a[i, j]
        return loss, yb, ab

    return f


def make_ours(ag):
    def loss(y, a):
        t = 0.0
        while t < T_END - 1e-13:
            k = np.tanh(a @ y) - 0.5 * y
            dt = DT / (1.0 + np.sqrt(np.mean(k * k)))
            if t + dt > T_END:
                dt = T_END - t
            y = y + dt * k
            t = t + dt
        return np.sum(y * y)

    vg = ag.value_and_grad(loss, (0, 1))

    @ag.function
    def f(y0, a):
        value, (gy, ga) = vg(y0, a)
        return value, gy, ga

    return f
