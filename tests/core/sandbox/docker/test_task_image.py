"""Real containers that start from a task's own image, made here of this machine's programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from containers import containers_left
from images import local_image

from harness_adapters.errors import BrokenTask, MissingPrerequisite
from harness_adapters.sandbox.base import MIB, FileEntry, SandboxProvider, SandboxSpec

pytestmark = pytest.mark.full

FILES = {
    "/app/sub/note": "a note",
    "/app/run.sh": "#!/bin/sh\necho ran\n",
    "/app/cache/kept": "in a volume",
    "/store/seed": "in another",
    "/usr/local/bin/greet": "#!/bin/sh\necho hello from the image\n",
    "/etc/ld.so.preload": "/usr/local/lib/evil.so\n",
    "/secret": "of the image",
}
CHANGES = (
    "ENV PATH=/usr/local/bin:/usr/bin:/bin COLOUR=blue LD_AUDIT=/evil.so",
    "VOLUME /store /app/cache",
    "WORKDIR /app",
    'ENTRYPOINT ["/bin/false"]',
)


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    with local_image(FILES, changes=CHANGES) as name:
        yield name


@pytest.fixture
def spec(image: str, small: SandboxSpec) -> SandboxSpec:
    return replace(
        small,
        workdir="/app",
        writable={"/app": 8 * MIB, "/home/agent": 8 * MIB, "/tmp": 8 * MIB},
        image=image,
    )


async def test_programs_and_files_are_the_images(
    docker: SandboxProvider, spec: SandboxSpec
) -> None:
    script = "greet; ./run.sh; echo $COLOUR; cat sub/note cache/kept /store/seed; ls -A /home"
    async with docker.open(spec) as sandbox:
        ran = await sandbox.exec(["sh", "-c", script], env={"LD_AUDIT": ""})
        assert (ran.returncode, ran.stderr) == (0, b"")
        said = b"hello from the image\nran\nblue\na notein a volumein anotheragent\n"
        assert ran.stdout == said
        # Of this machine there is the supervisor's Python and no more: no other program.
        none = await sandbox.exec(
            ["sh", "-c", "command -v python3 || command -v pytest || command -v ha"]
        )
        assert none.returncode != 0
        tree = await sandbox.read_tree("/app", max_bytes=MIB)
        assert sorted(tree) == ["cache/kept", "run.sh", "sub/note"]
        assert tree["run.sh"].mode & 0o111
    assert containers_left() == []


async def test_what_is_written_is_in_memory_limited_and_the_agents(
    docker: SandboxProvider, spec: SandboxSpec
) -> None:
    script = (
        "id -u; for f in /app/a /app/sub/b /app/cache/c /store/d /tmp/e /home/agent/f; do "
        "echo x > $f || echo no $f; done; rm sub/note; "
        "for f in /x /usr/x /etc/x /opt/ha/x /var/x /dev/x; do echo x > $f && echo $f; done; "
        "head -c 20000000 /dev/zero > big; wc -c < big; head -c 90000000 /dev/zero > /store/big; "
        "wc -c < /store/big; cat /root/x /proc/1/environ"
    )
    async with docker.open(spec) as sandbox:
        ran = await sandbox.exec(["bash", "-c", script], env={"LD_AUDIT": ""})
        uid, app, store = map(int, ran.stdout.split())
        assert uid > 1000
        assert (app < 8 * MIB, store <= 64 * MIB) == (True, True)
        assert await sandbox.read_file("/app/sub/note", max_bytes=9) is None
    async with docker.open(spec) as again:
        assert await again.read_file("/app/sub/note", max_bytes=9) == b"a note"
        assert await again.read_file("/app/a", max_bytes=9) is None


async def test_it_isolates_as_any_other(docker: SandboxProvider, spec: SandboxSpec) -> None:
    script = (
        "grep -c : /proc/net/dev; grep -h ^Cap /proc/self/status | sort -u | grep -v Bnd; "
        "grep NoNewPrivs /proc/self/status; cat /etc/resolv.conf; kill -9 1 -1"
    )
    async with docker.open(spec) as sandbox:
        ran = await sandbox.exec(["bash", "-c", script], env={"LD_AUDIT": ""})
        none = b"0000000000000000"
        assert ran.stdout.split() == [
            *(b"1", b"CapAmb:", none, b"CapEff:", none, b"CapInh:", none, b"CapPrm:", none),
            *(b"NoNewPrivs:", b"1"),
        ]
        slow = await sandbox.exec(["sh", "-c", "sleep 600 & wait"], timeout=0.5)
        assert (slow.timed_out, (await sandbox.exec(["true"])).returncode) == (True, 0)
        await sandbox.put({"a": FileEntry(content=b"b")}, at="/app")
        await sandbox.freeze()
        assert await sandbox.read_file("/app/a", max_bytes=9) == b"b"


async def test_an_image_that_is_not_there_says_how_to_get_it(
    docker: SandboxProvider, spec: SandboxSpec
) -> None:
    missing = "the engine has no image 'example/none:1'; get it by `docker pull example/none:1`"
    with pytest.raises(MissingPrerequisite, match=missing):
        async with docker.open(replace(spec, image="example/none:1")):
            pass
    with pytest.raises(MissingPrerequisite, match=missing):
        await docker.check_images([spec.image, "example/none:1"])
    await docker.check_images([spec.image])


async def test_a_folder_that_is_too_large_is_the_tasks_fault(
    docker: SandboxProvider, spec: SandboxSpec
) -> None:
    with pytest.raises(BrokenTask, match="more than 0 MiB in /app"):
        async with docker.open(replace(spec, writable={"/app": 4096})):
            pass
    assert containers_left() == []
