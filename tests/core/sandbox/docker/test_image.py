from __future__ import annotations

import io
import tarfile

from harness_adapters.sandbox.docker.image import archive, tag

LINKS = {"/bin": "usr/bin", "/opt/ha/bin/python3": "/usr/bin/python3", "/var/tmp": "/tmp"}


def test_it_holds_the_links_below_folders_that_everybody_may_enter() -> None:
    with tarfile.open(fileobj=io.BytesIO(archive(LINKS))) as tar:
        found = {entry.name: entry for entry in tar}
    assert {f"/{name}": one.linkname for name, one in found.items() if one.issym()} == LINKS
    folders = {name: one.mode for name, one in found.items() if one.isdir()}
    assert folders == dict.fromkeys(("opt", "opt/ha", "opt/ha/bin", "var"), 0o755)


def test_its_name_follows_its_content_and_nothing_else() -> None:
    backwards = dict(reversed(LINKS.items()))
    assert tag(archive(LINKS)) == tag(archive(backwards))
    assert tag(archive(LINKS)) != tag(archive({**LINKS, "/bin": "usr/sbin"}))
