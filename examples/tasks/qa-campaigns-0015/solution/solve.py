"""Answers the question from the data files and writes answer.txt."""

import sqlite3


def load(name):
    """The rows of a table."""
    connection = sqlite3.connect("campaigns.sqlite")
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM " + name)]
    connection.close()
    return rows


rows = load("campaigns")
by_key = {row["partner_id"]: row for row in load("partners")}
rows = [row | by_key[row["partner_id"]] for row in rows]
groups = {}
for row in rows:
    groups.setdefault(row["region"], []).append(row["votes"])
measured = {name: sum(values) for name, values in groups.items()}
answer = max(measured, key=measured.get)

with open("answer.txt", "w", encoding="utf-8") as file:
    file.write(f"{answer}\n")
