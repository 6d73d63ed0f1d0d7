"""A recurrent network over sequences of different lengths: each step only moves the rows that still run."""

from __future__ import annotations

import numpy as np

import autograph as ag


def cell(x, state, w_in, w_state, bias):
    """One step of a plain recurrent cell."""
    return np.tanh(x @ w_in + state @ w_state + bias)


def rnn(inputs, lengths, state, weights):
    """inputs: float[batch, time, features], lengths: int[batch]; all outputs, and each row's last state."""
    w_in, w_state, bias = weights
    outputs = []
    for step in range(inputs.shape[1]):
        running = step < lengths
        if not running.any():
            break
        new = cell(inputs[:, step], state, w_in, w_state, bias)
        state = np.where(running[:, None], new, state)
        outputs.append(np.where(running[:, None], new, 0.0))
    if outputs:
        return np.stack(outputs, axis=1), state
    return np.zeros((len(inputs), 0, len(bias))), state


def main() -> None:
    random = np.random.default_rng(3)
    batch, time, features, units = 4, 7, 3, 5
    inputs = random.normal(size=(batch, time, features))
    weights = random.normal(size=(features, units)), random.normal(size=(units, units)), np.zeros(units)
    state = np.zeros((batch, units))
    converted = ag.function(rnn)
    for lengths in ([7, 2, 5, 1], [3, 3, 0, 2], [0, 0, 0, 0]):
        args = inputs, np.array(lengths), state, weights
        got, want = converted(*args), rnn(*args)
        for ours, plain in zip(got, want, strict=True):  # the last bits of tanh: docs/differences.md
            np.testing.assert_allclose(ours, plain, rtol=1e-12, atol=1e-12)
        print(f"lengths {lengths}: outputs {got[0].shape}, last states sum to {got[1].sum():.6f}")


if __name__ == "__main__":
    main()
