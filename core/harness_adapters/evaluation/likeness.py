"""Which runs may be compared: those whose manifests agree in all but what is being compared.

Base and run may differ in the model and in how the engine names it. Everything else (tasks and
their hashes, harness and version, plugins and their options, guard policy, caps, sampling, chat
template, attempts, infra retries, sandbox, the engine's kind and flags, our own version) must
agree, since any of it can move pass@1 or the number of calls by itself.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

from harness_adapters.errors import BadInput
from harness_adapters.record.manifest import Manifest

# What an engine says about the model it serves or about where it listens, not about how it serves.
# An adapter has a parent and another root than its base; not every server states a card's length.
_OF_THE_MODEL = frozenset({"name", "url", "play", "root", "parent", "max_model_len"})

# What else may be compared, by name: the manifest's fields that such a comparison leaves free.
DESIGNS = {
    "harness": frozenset({"harness", "harness_version", "components", "component_options"}),
    "guards": frozenset({"policy", "components", "component_options"}),
}


def require_alike(base: Manifest, run: Manifest, path: Path, *, vary: Collection[str] = ()) -> None:
    """:param vary: names from ``DESIGNS`` that are compared beside the model.
    :raises BadInput: the manifests differ in a field that must agree; the message names it and
        gives both values, the base's first. Or ``vary`` has an unknown name."""
    if unknown := set(vary) - DESIGNS.keys():
        raise BadInput(f"cannot vary {sorted(unknown)[0]!r}; one of {', '.join(DESIGNS)}")
    free = frozenset[str]().union(*(DESIGNS[name] for name in vary))
    difference = _comparable(base, free).difference(_comparable(run, free))
    if difference:
        raise BadInput(f"cannot compare {path} with the base: they differ in {difference}")


def notes(base: Manifest, run: Manifest) -> list[str]:
    """Differences that are allowed but that a reader must know of."""
    mine, theirs = base.engine.get("url"), run.engine.get("url")
    if mine != theirs:
        return [f"the arms were served at two addresses, {mine} and {theirs}: is it one engine?"]
    return []


def _comparable(manifest: Manifest, free: Collection[str]) -> Manifest:
    """The manifest with everything that may differ made equal."""
    kind = str(manifest.engine.get("name", "")).partition(":")[0]
    flags = {key: value for key, value in manifest.engine.items() if key not in _OF_THE_MODEL}
    engine = {"kind": "url" if kind in ("http", "https") else kind, **flags}
    nulled: dict[str, Any] = {name: type(getattr(manifest, name))() for name in free}
    return manifest.model_copy(update={"model": "", "engine": engine, **nulled})
