"""Plans from manifests."""

from depwave.errors import PlanError
from depwave.graph import Graph
from depwave.manifest import read_manifest


def plan(text, wanted):
    """The waves in which to build the packages ``wanted`` and all that they need.

    :raises PlanError: a package is unknown or too old, or packages need each other in a circle.
    """
    packages = read_manifest(text)
    graph = _graph(packages)
    return _waves(graph, _known(wanted, packages))


def rebuild(text, changed):
    """The waves in which to build everything again that needs one of the packages ``changed``,
    these included."""
    packages = read_manifest(text)
    graph = _graph(packages)
    affected = graph.reversed().reachable(_known(changed, packages))
    part = {name: [n for n in graph.needed(name) if n in affected] for name in affected}
    return _waves(Graph(part), affected)


def explain(text, wanted, needed):
    """Why ``wanted`` needs ``needed``: the shortest chain of names, or None."""
    packages = read_manifest(text)
    _known([wanted, needed], packages)
    return _graph(packages).shortest_path(wanted, needed)


def _graph(packages):
    for package in packages.values():
        for need in package.needs:
            if need.name not in packages:
                raise PlanError(f"{package.name} needs {need.name}, which is unknown")
            version = packages[need.name].version
            if version < need.at_least:
                raise PlanError(
                    f"{package.name} needs {need.name} {_text(need.at_least)} or later, "
                    f"there is {_text(version)}"
                )
    return Graph({name: [n.name for n in package.needs] for name, package in packages.items()})


def _waves(graph, roots):
    waves = {}
    for name, depth in graph.depths(roots).items():
        waves.setdefault(depth, []).append(name)
    return [sorted(waves[depth]) for depth in sorted(waves)]


def _known(names, packages):
    for name in names:
        if name not in packages:
            raise PlanError(f"{name} is unknown")
    return list(names)


def _text(version):
    return ".".join(map(str, version))
