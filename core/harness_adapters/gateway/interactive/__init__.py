"""The guard in front of the agent a person already uses: pass-through, with tool calls judged."""
