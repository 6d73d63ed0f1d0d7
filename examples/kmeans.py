"""Lloyd's k-means until nothing moves: masks, empty clusters, an early return, rows written in place."""

from __future__ import annotations

import numpy as np

import autograph as ag


def kmeans(points, centres, rounds):
    """Move `centres` (float[k, d]) in place to their points' means; returns labels and rounds used."""
    labels = np.zeros(len(points), dtype=np.int64)
    for count in range(rounds):
        squares = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = squares.argmin(axis=1)
        if count > 0 and (nearest == labels).all():
            return labels, count
        labels = nearest
        for k in range(len(centres)):
            members = points[labels == k]
            if len(members) == 0:
                continue
            centres[k] = members.mean(axis=0)
    return labels, rounds


def main() -> None:
    random = np.random.default_rng(7)
    blobs = [random.normal(centre, 0.4, (40, 2)) for centre in ((0, 0), (3, 0), (0, 3))]
    points = np.concatenate(blobs)
    converted = ag.function(kmeans)
    for start in (points[[0, 40, 80]], points[[0, 1, 2]], np.array([[0.0, 0.0], [3.0, 3.0], [99.0, 99.0]])):
        plain_centres, centres = start.copy(), start.copy()
        want, got = kmeans(points, plain_centres, 30), converted(points, centres, 30)
        np.testing.assert_array_equal(got[0], want[0])
        np.testing.assert_array_equal(centres, plain_centres)
        assert got[1] == want[1]
        print(f"{got[1]} rounds, sizes {np.bincount(got[0], minlength=3)}, centres\n{centres.round(3)}")


if __name__ == "__main__":
    main()
