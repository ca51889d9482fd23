"""Answers the question from the data files and writes answer.txt."""

import sqlite3


def load(name):
    """The rows of a table."""
    connection = sqlite3.connect("accounts.sqlite")
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM " + name)]
    connection.close()
    return rows


rows = load("accounts")
values = [row["balance"] for row in rows]
answer = round(max(values), 2)

with open("answer.txt", "w", encoding="utf-8") as file:
    file.write(f"{answer}\n")
