"""The guard: tool calls parsed into actions, a session ledger, and the rules that judge them."""
