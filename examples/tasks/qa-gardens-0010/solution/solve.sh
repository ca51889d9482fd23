#!/bin/bash
# Answers the question; run in the working folder.
set -eu
exec python3 -I "$(dirname "$0")/solve.py"
