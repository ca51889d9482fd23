#!/bin/bash
# Puts the corrected files in place; run in the working folder.
set -eu
cp -R "$(dirname "$0")/files/." .
