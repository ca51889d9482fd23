"""Wire dialects of harnesses, each read into and written from the one internal message model."""
