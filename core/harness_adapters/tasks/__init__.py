"""Task bundles in Harbor's format, and how they are read, verified and selected."""
