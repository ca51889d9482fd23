"""A directed graph of names: each points to what it needs."""

from depwave.errors import CycleError


class Graph:
    def __init__(self, edges):
        """:param edges: name -> the names that it needs; each of them is a key too."""
        self._edges = {name: sorted(set(needed)) for name, needed in edges.items()}

    def needed(self, name):
        return self._edges[name]

    def reachable(self, roots):
        """``roots`` and all that they need, directly or not."""
        seen = set()
        waiting = list(roots)
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting.extend(self._edges[name])
        return seen

    def reversed(self):
        """The graph in which each name points to those that need it."""
        edges = {name: [] for name in self._edges}
        for name, needed in self._edges.items():
            for other in needed:
                edges[other].append(name)
        return Graph(edges)

    def depths(self, roots):
        """Name -> steps of the longest way down from it; 0 needs nothing.

        :raises CycleError: there is no longest way.
        """
        depths = {}
        path = []

        def visit(name):
            if name in depths:
                return depths[name]
            if name in path:
                raise CycleError([*path[path.index(name) :], name])
            path.append(name)
            below = [visit(other) for other in self._edges[name]]
            path.pop()
            depths[name] = 1 + max(below, default=-1)
            return depths[name]

        for root in sorted(roots):
            visit(root)
        return depths

    def shortest_path(self, start, goal):
        """Names from ``start`` to ``goal``, as few as possible, or None."""
        came_from = {start: None}
        layer = [start]
        while layer:
            following = []
            for name in layer:
                if name == goal:
                    path = []
                    while name is not None:
                        path.append(name)
                        name = came_from[name]
                    return path[::-1]
                for other in self._edges[name]:
                    if other not in came_from:
                        came_from[other] = name
                        following.append(other)
            layer = following
        return None
