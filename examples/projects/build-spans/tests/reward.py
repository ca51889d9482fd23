"""Prints the reward, 0 to 1, for a JUnit report: the share of the tests that passed.

Where ``new_tests.txt`` lies beside this file it names the tests that count; then all others must
pass, or the reward is 0.
"""

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

results = {}
for case in ET.parse(sys.argv[1]).iter("testcase"):
    name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
    results[name] = not list(case)
named = Path(__file__).with_name("new_tests.txt")
counted = named.read_text("utf-8").split() if named.exists() else list(results)
if any(not passed for name, passed in results.items() if name not in counted):
    print(0)
else:
    print(sum(results.get(name, False) for name in counted) / max(1, len(counted)))
