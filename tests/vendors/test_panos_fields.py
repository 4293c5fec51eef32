"""Fields taken out of the XML before expat reads it change nothing: the tree is that of the whole text."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from policyhub.vendors.paloalto_panos.tree import Node
from policyhub.vendors.paloalto_panos.xml_fields import STAND_IN, take_fields
from policyhub.vendors.paloalto_panos.xml_form import DECLARATION, UNPRINTABLE, XmlText, _read, _read_quickly
from tests.vendors.test_mutations import GROWING, bodies

RULES = """<config version="10.1.0"><rules>
<entry name="one" uuid="1"><from><member>inside</member></from>
 <source>
  <member>a</member>
  <member>b</member>
 </source><action>allow</action><description>two
lines</description><tag/><option></option></entry>
<entry name="two"><profile-setting><group><member>g</member></group></profile-setting><log-end>no</log-end></entry>
</rules></config>
"""
TAGS = ("from", "to", "entry", "member", "config", "list", "x")
PIECES = st.one_of(
    st.sampled_from([f"<{tag}>" for tag in TAGS] + [f"</{tag}>" for tag in TAGS] + [f"<{tag}/>" for tag in TAGS]),
    st.sampled_from(
        [
            '<entry name="a">',
            '<member loc="b">',
            "<member>v</member>",
            "<to>w</to>",
            "<from>\n<member>v\n</member>\n</from>",
            '<x a="<to>w</to>"/>',
        ]
    ),
    st.sampled_from(
        ["\n", " ", "text", "&amp;", "&bad;", ">", "\r", STAND_IN, "\x01", "<!-- <to>c</to> -->", "<![CDATA[<to>d</to>]]>"]
    ),
)


def texts_of_elements() -> st.SearchStrategy[str]:
    """Elements that are closed again, and pieces between them that need not be."""
    return st.recursive(
        st.lists(PIECES, max_size=3).map("".join),
        lambda inner: st.tuples(st.sampled_from(TAGS), st.booleans(), st.lists(inner, max_size=4)).map(
            lambda made: f"<{made[0]}{' name=' + chr(34) + 'n' + chr(34) if made[1] else ''}>{''.join(made[2])}</{made[0]}>"
        ),
        max_leaves=20,
    )


def told(node: Node, *, key: str = "") -> tuple[object, ...]:
    """Everything of a node, packed or not."""
    packed = node.children or {}
    below = [told(child, key=name) for name, child in zip(packed, list(node), strict=True)]
    return key, node.name, node.line, node.end, node.more, node.own, below


def whole(read: XmlText) -> tuple[object, ...]:
    return told(read.root), read.broken, sorted(read.passed), read.stray, read.version


def check(text: str) -> bool:
    """Whether the quick way was taken."""
    quick = _read_quickly(text)
    if quick is not None:
        assert whole(quick) == whole(_read(UNPRINTABLE.sub(" ", text)))
    return quick is not None


def test_a_rulebase_is_read_quickly() -> None:
    assert check(RULES)
    text, fields = take_fields(RULES)
    assert [tag for tag, _ in fields] == ["from", "source", "action", "description", "group", "log-end"]
    assert text.count("\n") == RULES.count("\n")


def test_a_field_in_an_attribute_shifts_no_other() -> None:
    """XML forbids `<` there; its token would get the field of the next one: deny for allow."""
    assert not check(RULES.replace('uuid="1"', 'uuid="<action>deny</action>"'))


@settings(max_examples=400)
@given(texts_of_elements())
def test_the_tree_is_that_of_the_whole_text(text: str) -> None:
    check(text)


def test_damaged_configurations_give_the_same_tree() -> None:
    rng = random.Random(7)
    quick = 0
    for body in (*bodies("paloalto_panos"), RULES.encode() * 3):
        for _ in range(40 if b"<entry" in body else 0):
            damaged = rng.choice(GROWING)(rng, body).decode("utf-8", "replace")
            quick += check(DECLARATION.sub("", damaged.replace("\r\n", "\n")))
    assert quick > 20
