"""The reverse proxy between harness and engine: sessions, dialects, capture and guard."""
