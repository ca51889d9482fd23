import spans


def test_merge():
    assert spans.merge([[5, 8], [1, 3], [2, 4]]) == [[1, 4], [5, 8]]
