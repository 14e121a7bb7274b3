"""`where()`: against Python's own evaluation of each row, and what it refuses."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from columns import with_columns
from conftest import bake
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pictures import image_folder

from convert.errors import PrebakeError
from readers import BakedDataset, open_dataset
from readers.query import select

NAN = float("nan")
TABLE: dict[str, np.ndarray[Any, Any]] = {
    "fold": np.array([0, 1, 2, -3, 1000, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "small": np.array([0, 1, 2, -3, 7, 11, 100, -100]),
    "age": np.array([0.5, NAN, -2.0, 3.0, NAN, 2.0**53, 1e300, -0.0]),
    "sex": np.array(["", "f", "m", "f", "it's", "käse", "caf\udce9", "f "], object),
    "odd name": np.array(["f", "f", "", "x", "m", "m", "caf\udce9", "Z"], object),
    "class": np.array([3, 1, 2, 3, 1, 2, 3, 1]),
}
PYTHON = {"`odd name`": "odd_name", "class": "class_"}
"""What the oracle calls them."""

literals = st.sampled_from(["0", "1", "2", "-3", "2.0", ".5", "9007199254740992.0", "9007199254740993", "1e400", "1_000"])
texts = st.sampled_from(["''", "'f'", '"m"', "'it\\'s'", '"it\'s"', "'k\\u00e4se'", "'caf\\udce9'"])
columns = st.sampled_from(["fold", "small", "age", "class"])


def _joined(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(" ".join)


def _in_parentheses(strategy: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return strategy.map("({})".format)


def _arithmetic(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    divisors = st.sampled_from(["3", "-2", "0.5", "7"])
    return st.one_of(
        _in_parentheses(_joined(part, st.sampled_from("+-*"), part)),
        _in_parentheses(_joined(part, st.sampled_from("/%"), divisors)),
        part.map("(-{})".format),
    )


exact = st.recursive(st.sampled_from(["small", "age", "class", "2", "0.25"]), _arithmetic, max_leaves=4)
numbers = st.one_of(columns, literals, exact)
orders = st.sampled_from(["==", "!=", "<", "<=", ">", ">="])
words = st.one_of(st.sampled_from(["sex", "`odd name`"]), texts)
memberships = st.sampled_from(["in", "not in"])


def _listed(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, max_size=4).map(lambda some: f"({', '.join(some)}{',' * (len(some) == 1)})")


comparisons = st.one_of(
    _joined(numbers, orders, numbers),
    _joined(numbers, orders, numbers, orders, numbers),
    _joined(words, orders, words),
    _joined(numbers, memberships, _listed(literals)),
    _joined(words, memberships, _listed(texts)),
)
conditions = st.recursive(
    comparisons,
    lambda part: st.one_of(
        _joined(part, st.sampled_from(["and", "or"]), part), _in_parentheses(part), part.map("not {}".format), part.map(" {} ".format)
    ),
    max_leaves=5,
)


def _by_python(expression: str) -> list[bool]:
    """The oracle."""
    for ours, name in PYTHON.items():
        expression = expression.replace(ours, name)
    rows = zip(*(column.tolist() for column in TABLE.values()), strict=True)
    names = [PYTHON.get(f"`{name}`", PYTHON.get(name, name)) for name in TABLE]
    return [eval(expression.strip(), {}, dict(zip(names, row, strict=True))) for row in rows]


@settings(max_examples=1500, deadline=None)
@given(conditions)
@example("not age == 3 and age != age")
@example("fold == 9007199254740992.0")
@example("fold < 9223372036854775808.0")
@example("sex == 'f' or\n\t`odd name` in ['m',]")
def test_it_means_what_python_makes_of_each_row(expression: str) -> None:
    right = _by_python(" ".join(expression.split("\n")))
    if not any(name in expression for name in TABLE):
        with pytest.raises(PrebakeError, match="names no column"):
            select(expression, list(TABLE), TABLE.__getitem__)
    elif any(right):
        assert select(expression, list(TABLE), TABLE.__getitem__).tolist() == right
    else:
        with pytest.raises(PrebakeError, match="true for no row"):
            select(expression, list(TABLE), TABLE.__getitem__)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> BakedDataset:
    root = tmp_path_factory.mktemp("query")
    bake(image_folder(root / "source", {"cat": 5, "dog": 7}), root / "out", size=(8, 8))
    cells: dict[str, Sequence[object]] = {
        "fold": [i % 3 for i in range(12)],
        "age": ["" if i == 4 else i for i in range(12)],
        "sex": ["f", "m"] * 6,
        "patient id": [f"{i:03d}" for i in range(12)],
        "class`s": list("ab") * 6,
        "in": [1] * 12,
        "2nd": [2] * 12,
        "\u00b5": [3] * 12,
        "__0": [4] * 12,
    }
    return open_dataset(with_columns(root / "out", cells), return_index=True)


@pytest.mark.parametrize(
    ("expression", "rows"),
    [
        ("fold != 0", [1, 2, 4, 5, 7, 8, 10, 11]),
        ("fold in (0, 1) and sex == 'f' and age < 5", [0]),
        ("`patient id` in ['003', '010']", [3, 10]),
        ("age != age", [4]),
        ("not age >= 0", [4]),
        ("age / 0 != 1 and fold % 0 != 0 and age == 1", [1]),
        ("`in` == 1 and `2nd` == 2 and `\u00b5` == 3 and \u00b5 == 3 and __0 == 4 and row == 7", [7]),
        ("sex != 'class' and sex != '`in`' and sex != 'f # m' and row == 3", [3]),
        ("\n  row == 3\n  or row == 5\n", [3, 5]),
        (f"row in {list(range(20, 5000))} or row == 2", [2]),
        ("scale_y > 0 and source_height >= 48 and row == 0", [0]),
    ],
)
def test_a_part_of_a_data_set(dataset: BakedDataset, expression: str, rows: list[int]) -> None:
    part = dataset.where(expression)
    assert type(part) is type(dataset)
    assert part.column("row").tolist() == rows
    assert [part.key(i) for i in range(len(part))] == [dataset.key(row) for row in rows]
    assert part[len(part) - 1][2] == len(part) - 1


def test_parts_of_parts(dataset: BakedDataset) -> None:
    cats = dataset.subset([11, 3, 3, 0]).where("age > 1").where("class == 'cat' or class == 'dog'")
    assert cats.column("row").tolist() == [11, 3, 3]
    with pytest.raises(PrebakeError, match=r"where\('age == 4'\): it is true for no row; age is 0.0, 3.0, 11.0"):
        dataset.subset([11, 3, 3, 0]).where("age == 4")


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ("fold = 0", r"where\('fold = 0'\): at '= 0' it is not understood: a condition is made of"),
        ("", "not understood"),
        ("fold ==", "not understood"),
        ("fold == 1\0", "not understood"),
        ("`fold == 1", "not understood"),
        ("2nd == 1", "at '2nd == 1' it is not understood.*`backticks`"),
        ("fold == 1) or (fold == 2", r"at '\) or \(fold == 2' it is not understood"),
        ("fold == 1 # and more", "# and more is not understood"),
        ("fold", "fold is not understood: it is a number, and no condition"),
        ("sex and fold == 1", "sex is not understood: it is a text, and no condition"),
        ("not 'f'", "'f' is not understood: it is a text"),
        ("1 < 2", "it names no column"),
        ("fold == 'a'", "fold is a number and 'a' is a text: they cannot be compared"),
        ("`patient id` == 3", "`patient id` is a text and 3 is a number"),
        ("sex < fold", "sex is a text and fold is a number"),
        ("sex in ('f', 3)", "sex is a text and 3 is a number"),
        ("(fold == 1) == (fold == 2)", "fold == 1 is a condition and fold == 2 is a condition"),
        ("(fold == 1) + 1 == 2", "fold == 1 is not understood: it is a condition, and only numbers"),
        ("sex + 'a' == 'fa'", "sex is not understood: it is a text, and only numbers"),
        ("-sex == 'a'", "sex is not understood: it is a text"),
        ("fold == True", "True is not understood: columns hold numbers and texts; a text stands in quotes"),
        ("fold == None", "None is not understood"),
        ("fold == 1j", "1j is not understood"),
        ("sex == b'f'", "b'f' is not understood"),
        ("sex == f'{fold}'", "not understood"),
        ("fold is 3", "fold is 3 is not understood: write == or !="),
        ("fold in 3", r"3 is not understood: behind `in` stands a list of values: in \(1, 2\)"),
        ("'f' in sex", "sex is not understood: behind `in`"),
        ("fold in (fold, 1)", "fold is not understood: behind `in` stands a list of values, not of columns"),
        ("(fold == 1) & (fold == 2)", "is not understood: conditions are joined with: and, or, not"),
        ("fold ** 2 == 1", r"fold \*\* 2 is not understood"),
        ("fold // 2 == 1", "fold // 2 is not understood"),
        ("~fold == 1", "~fold is not understood"),
        ("+fold == 1", r"\+fold is not understood"),
        ("len(sex) == 1", r"len\(sex\) is not understood"),
        ("sex.upper() == 'F'", r"sex.upper\(\) is not understood"),
        ("fold.real == 1", "fold.real is not understood"),
        ("sex[0] == 'f'", r"sex\[0\] is not understood"),
        ("fold == 1 if fold else 2", "is not understood"),
        ("[fold for fold in (1,)]", "is not understood"),
        ("(lambda: fold)() == 1", "is not understood"),
        ("(fold := 1) == 1", "is not understood"),
        ("__import__('os').system('true') == 0", "is not understood"),
        ("fold == 9223372036854775808", "9223372036854775808 is not understood: whole numbers have 64 bits at most"),
        (
            "fold * 9223372036854775807 > 1",
            r"fold \* 9223372036854775807 is not understood: it leads to whole numbers of more than 64",
        ),
        ("foldd == 1", "no column foldd; the nearest first, it has fold, "),
        ("patient == 1", "no column patient; the nearest first, it has patient id, "),
        ("`no such` == 1", "no column no such"),
        ("sex == 'x'", r"where\(\"sex == 'x'\"\): it is true for no row; sex is 'f', 'm'$"),
        ("row > 100 and fold == 0", r"it is true for no row; row is 0, 1, 2, 3, 4, ...; fold is 0, 1, 2$"),
        ("(" * 250 + "fold == 1" + ")" * 250, "nested too deeply|not understood"),
        ("not " * 9000 + "fold == 1", "nested too deeply|not understood"),
        (" + ".join(["fold"] * 9000) + " > 1", "nested too deeply"),
        ("fold == " + "9" * 5000, "not understood"),
    ],
    ids=lambda value: value[:30],
)
def test_what_is_refused(dataset: BakedDataset, expression: str, says: str) -> None:
    with pytest.raises(PrebakeError, match=says) as refused:
        dataset.where(expression)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 800


@pytest.mark.parametrize("expression", [np.ones(12, bool), None, 3, len])
def test_what_is_no_expression(dataset: BakedDataset, expression: Any) -> None:
    with pytest.raises(PrebakeError, match=r"where\(\) takes an expression such as 'fold != 0', not \w+; subset\(\) takes a mask"):
        dataset.where(expression)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("fold age()in[],'\"`=<!1.#\n"), max_size=20))
def test_any_text_is_understood_or_refused(text: str) -> None:
    with contextlib.suppress(PrebakeError):
        select(text, list(TABLE), lambda name: TABLE[name] if name in TABLE else _raise(name))


def _raise(name: str) -> Any:
    raise PrebakeError(name)
