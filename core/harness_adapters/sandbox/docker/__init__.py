"""Sandboxes that are containers of a Docker Engine on this machine."""
