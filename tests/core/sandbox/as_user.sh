#!/bin/sh
# usage: as_user.sh UID HOME FOLDER... -- COMMAND...
# Runs a command as another user, who can read the folders even where one lies below a home that is
# private: in a mount namespace of its own, such a home is replaced by one with nothing else in it.
set -eu
uid=$1 home=$2
shift 2
folders=
while [ "$1" != -- ]; do folders="$folders $1"; shift; done
shift
kept=$(mktemp -d)
trap 'rmdir "$kept" 2>/dev/null || true' EXIT
mount --make-rprivate /
mount -t tmpfs tmpfs "$kept"
for folder in $folders; do
  mkdir -p "$kept$folder"
  mount --bind "$folder" "$kept$folder"
done
for folder in $folders; do
  top=/$(echo "$folder" | cut -d/ -f2)
  if [ "$(stat -c %a "$top" | tail -c 2)" = 0 ]; then
    mount -t tmpfs -o mode=755 tmpfs "$top"
  fi
done
for folder in $folders; do
  if [ ! -e "$folder" ]; then
    mkdir -p "$folder"
    mount --bind "$kept$folder" "$folder"
  fi
done
chown -R "$uid" "$home"
exec env -i PATH="$PATH" HOME="$home" LANG=C.UTF-8 \
  setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
