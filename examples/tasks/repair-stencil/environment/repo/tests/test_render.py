import pytest

from stencil import Template, TemplateError, render


def test_values_are_written():
    assert render("Hello {{ name }}, {{ 3 }} {{ \"x\" }}", name="Ada") == "Hello Ada, 3 x"


def test_dotted_names():
    user = {"name": "Ada", "tags": ["a", "b"]}
    assert render("{{ user.name }} {{ user.tags.1 }}", user=user) == "Ada b"


def test_filters_follow_each_other():
    assert render('{{ x | default:"none" | upper }}', x="") == "NONE"
    assert render('{{ x | join:"|" }}', x=[1, 2]) == "1|2"


def test_loops_know_where_they_are():
    template = "{% for x in xs %}{{ loop.index }}{{ x }}{% if not loop.last %},{% end %}{% end %}"
    assert render(template, xs="abc") == "1a,2b,3c"


def test_an_empty_list_writes_nothing():
    assert render("[{% for x in xs %}{{ x }}{% end %}]", xs=[]) == "[]"


def test_if_and_else():
    template = Template("{% if ok %}yes{% else %}no{% end %}")
    assert template.render(ok=1) == "yes"
    assert template.render(ok=[]) == "no"


def test_set_defines_a_name():
    assert render("{% set y = x %}{{ y | upper }}", x="a") == "A"


def test_a_set_inside_a_block_ends_with_it():
    with pytest.raises(TemplateError, match="'y'"):
        render("{% if 1 %}{% set y = 2 %}{% end %}{{ y }}")


def test_the_outer_loop_goes_on_after_an_inner_one():
    template = "{% for row in rows %}{% for x in row %}{{ x }}{% end %}#{{ loop.index }} {% end %}"
    assert render(template, rows=["ab", "c", "def"]) == "ab#1 c#2 def#3 "


def test_names_from_outside_are_seen_inside():
    assert render("{% for x in xs %}{{ x }}{{ end }} {% end %}", xs=[1, 2], end=";") == "1; 2; "


def test_an_unknown_name_is_an_error_with_its_line():
    with pytest.raises(TemplateError, match="line 2: nothing is called 'who'"):
        render("hi\n{{ who }}")


@pytest.mark.parametrize("text", ["{% for x in xs %}", "{% end %}", "{% nonsense %}", "{{ a + b }}"])
def test_wrong_templates(text):
    with pytest.raises(TemplateError):
        render(text, xs=[1], a=1, b=2)


def test_an_unknown_filter_is_an_error():
    with pytest.raises(TemplateError, match="no filter 'shout'"):
        render("{{ 1 | shout }}")
