import routes


def test_match():
    assert routes.match("/users/:id", "/users/42") == {"id": "42"}
    assert routes.match("/users/:id", "/groups/42") is None
