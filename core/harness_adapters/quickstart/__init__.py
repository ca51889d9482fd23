"""The quick start: a tiny policy, the questions it can answer, and where both lie."""

from harness_adapters.quickstart.policy import POLICY, policy_folder
from harness_adapters.quickstart.questions import combination, held_out, questions

__all__ = ["POLICY", "combination", "held_out", "policy_folder", "questions"]
