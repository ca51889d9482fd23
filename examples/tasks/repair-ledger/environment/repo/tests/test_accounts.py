from ledger import balances, read_csv, statement
from ledger.budget import over_budget, shares

HEAD = "date,payer,payee,amount,note\n"
ENTRIES = read_csv(
    HEAD
    + "2024-01-05,salary,bank,2400.00,\n"
    + "2024-01-07,bank,groceries,61.35,\n"
    + "2024-02-01,bank,rent,900,\n"
)


def test_balances_add_up():
    assert balances(ENTRIES) == {
        "bank": "1438.65",
        "groceries": "61.35",
        "rent": "900.00",
        "salary": "-2400.00",
    }


def test_balances_up_to_a_day():
    assert balances(ENTRIES, until="2024-01-07")["bank"] == "2338.65"


def test_a_statement_has_a_running_balance():
    assert statement(ENTRIES, "bank") == [
        ("2024-01-05", "salary", "2400.00", "2400.00"),
        ("2024-01-07", "groceries", "-61.35", "2338.65"),
        ("2024-02-01", "rent", "-900.00", "1438.65"),
    ]


def test_a_small_correction_lowers_the_balance():
    entries = read_csv(HEAD + "2024-03-01,bank,cafe,4.20,\n2024-03-02,bank,cafe,-0.70,returned\n")
    assert statement(entries, "cafe")[-1] == ("2024-03-02", "bank", "-0.70", "3.50")


def test_accounts_over_their_budget():
    limits = {"groceries": "50", "rent": "900.00"}
    assert over_budget(ENTRIES, limits, "2024-01") == {"groceries": "11.35"}
    assert over_budget(ENTRIES, limits, "2024-02") == {}


def test_shares_of_a_bill():
    assert shares("100.00", ["Ana", "Bo", "Cy"]) == {"Ana": "33.34", "Bo": "33.33", "Cy": "33.33"}
