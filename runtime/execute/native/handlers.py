"""Which ops are lowered by a function of their own, by name.

In: an op's name.  Out: what lowers it: a function of the state, the positional arguments and the keywords.
What always holds: a handler raises Unlowered for arguments that it does not expect.
"""

from __future__ import annotations

from runtime.execute.native import counts, linear, looks, makers, moved, running
from runtime.execute.native.kinds import Unlowered
from runtime.execute.native.makers import Handler
from runtime.execute.native.state import State
from runtime.execute.native.values import Val


def _plain(function: object) -> Handler:
    def handler(state: State, args: list[Val], keywords: dict[str, Val]) -> Val:
        if keywords:
            raise Unlowered("a matrix product with options")
        found: Val = function(state, args)  # type: ignore[operator]
        return found

    return handler


HANDLERS: dict[str, Handler] = {
    **makers.HANDLERS,
    **running.HANDLERS,
    **looks.HANDLERS,
    **counts.HANDLERS,
    **moved.HANDLERS,
    "matmul": _plain(linear.matmul),
    "np.matmul": _plain(linear.matmul),
    "np.dot": _plain(linear.dot),
    "nd.dot": _plain(linear.dot),
    "np.linalg.norm": _plain(linear.norm),
}
