def render(subject, template, **values):
    return subject.call("stencil:render", template, **values)


def test_the_outer_loop_after_an_inner_one(subject):
    template = (
        "{% for g in groups %}{% for m in g %}{{ m }}{{ loop.index }}{% end %}"
        "{% if loop.last %}.{% else %};{% end %}{% end %}"
    )
    assert render(subject, template, groups=[["p", "q"], [], ["r"]]) == "p1q2;;r1."


def test_an_inner_loop_with_the_same_name(subject):
    template = "{% for x in xs %}{{ x }}{% for x in ys %}{{ x }}{% end %}{{ x }} {% end %}"
    assert render(subject, template, xs=[1, 2], ys=["a", "b"]) == "1ab1 2ab2 "


def test_a_name_means_the_same_after_a_loop(subject):
    template = "{{ x }}{% for x in xs %}{{ x }}{% end %}{{ x }}"
    assert render(subject, template, x="out", xs=["i", "n"]) == "outinout"


def test_a_set_in_a_block_hides_only_inside_it(subject):
    template = "{% set v = 1 %}{% if on %}{% set v = 2 %}{{ v }}{% end %}{{ v }}"
    assert render(subject, template, on=True) == "21"


def test_loop_names_end_with_the_loop(subject):
    with subject.raises("TemplateError"):
        render(subject, "{% for x in xs %}{% end %}{{ x }}", xs=[1])
    with subject.raises("TemplateError"):
        render(subject, "{% for x in xs %}{% end %}{{ loop.index }}", xs=[1])


def test_plain_values(subject):
    assert render(subject, "{{ a.b.0 }}-{{ -2.5 }}", a={"b": [7]}) == "7--2.5"


def test_filters(subject):
    template = '{{ t | truncate:8 | upper }}/{{ t | replace:"o=0" }}/{{ t | length }}'
    assert render(subject, template, t="lorem ipsum") == "LOREM.../l0rem ipsum/11"


def test_a_filter_argument_may_hold_separators(subject):
    assert render(subject, '{{ xs | join:" | : " }}', xs=["a", "b"]) == "a | : b"


def test_if_not_and_else(subject):
    template = "{% if not ok %}no{% else %}yes{% end %}"
    assert [render(subject, template, ok=ok) for ok in (0, 1)] == ["no", "yes"]


def test_loop_first(subject):
    template = "{% for x in xs %}{% if loop.first %}^{% end %}{{ x }}{% end %}"
    assert render(subject, template, xs=[4, 5]) == "^45"


def test_errors_name_their_line(subject):
    with subject.raises("TemplateError") as caught:
        render(subject, "one\ntwo\n{{ missing.name }}")
    assert caught[0].message == "line 3: nothing is called 'missing'"


def test_blocks_must_be_ended(subject):
    with subject.raises("TemplateError"):
        render(subject, "{% if a %}{% for x in a %}{% end %}", a=[1])
