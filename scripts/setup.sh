# Sourced by the other scripts. Makes this checkout runnable: a virtual environment in .venv, the
# package with the extras asked for, and bubblewrap. Cheap when all is there; safe to run twice.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
VENV="$ROOT/.venv"
unset PYTHONDONTWRITEBYTECODE # many short processes: each would compile the whole package anew
TORCH=2.13.0

say() { printf '== %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 2; }

find_python() {
  local candidate
  for candidate in "${PYTHON:-}" python3.11 python3.12 python3.13 python3; do
    [ -n "$candidate" ] || continue
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  die "Python 3.11, 3.12 or 3.13 is needed; install it or name it with PYTHON=/path/to/python"
}

setup_venv() {
  local python
  [ -x "$VENV/bin/pip" ] && return
  python=$(find_python) || exit 2
  say "creating the virtual environment $VENV with $python"
  "$python" -m venv --clear "$VENV" || die "cannot create $VENV; on Debian: apt-get install python3-venv"
}

setup_python() { # setup_python EXTRAS, e.g. "" or "[dev]"
  local stamp wanted
  setup_venv
  stamp="$VENV/installed$1"
  wanted=$(cksum <"$ROOT/pyproject.toml")
  if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    say "installing harness-adapters$1 and its dependencies (about a minute)"
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -e "$ROOT$1" >&2 \
      || die "pip could not install the package; see the lines above"
    echo "$wanted" >"$stamp"
  fi
}

setup_torch() { # before the extras that need it, so that their ranges are met by this version
  "$VENV/bin/python" -c 'import torch' 2>/dev/null && return
  say "installing torch $TORCH (0.7 GB for the CPU, several GB with CUDA)"
  "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "torch==$TORCH" >&2 \
    || die "pip could not install torch==$TORCH; install a torch of your own into $VENV and run this again"
}

setup_bubblewrap() {
  command -v bwrap >/dev/null && return
  [ "$(uname -s)" = Linux ] || die "sandboxes need Linux; elsewhere run it in a Linux container"
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    say "installing bubblewrap, the sandbox"
    { apt-get install -y --no-install-recommends bubblewrap || { apt-get update && apt-get install -y --no-install-recommends bubblewrap; }; } \
      >"$VENV/apt.log" 2>&1 || die "apt-get could not install bubblewrap; see $VENV/apt.log"
  else
    die "bubblewrap is needed for the sandbox; install it first, e.g. sudo apt-get install bubblewrap"
  fi
}

setup_harnesses() { # setup_harnesses NAME...: downloads what is not in the cache yet
  "$VENV/bin/python" - "$@" >&2 <<'PYTHON' || die "a harness could not be installed; see above"
import asyncio, logging, sys
from harness_adapters import BadInput, Plugins

logging.basicConfig(level=logging.INFO, format="== %(message)s")
harnesses = Plugins.load().harnesses
try:
    for name in sys.argv[1:]:
        asyncio.run(harnesses.create(name).install())
except BadInput as error:
    sys.exit(f"error: {error}")
PYTHON
}
