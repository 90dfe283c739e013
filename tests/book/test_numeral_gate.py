"""What a chapter may say: no typed numbers, no forbidden meanings, both languages."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest

from aidc import paths
from tests.book import numeral_gate as gate

CHAPTERS = sorted((paths.ROOT / "book").glob("*.md"))
each_chapter = pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)

PAPER_HEADINGS = {
    "1_background": "研究背景与问题",
    "2_data_methods": "数据与方法",
    "2_1_evidence_framework": "审计框架",
    "2_2_task_trace_audit": "任务轨迹审计",
    "2_3_power_audit": "功率测量审计",
    "2_4_battery_audit": "电池参数审计",
    "3_results": "审计结果",
    "3_1_task_pool": "AcmeTrace Seren 的可用任务池",
    "3_2_data_boundaries": "数据边界总表",
    "3_3_data_fusion": "第一版数据融合原则",
    "4_discussion": "讨论",
    "5_limitations": "局限",
    "6_conclusion": "结论",
    "references": "参考文献",
}
"""The paper's own heading of each of its sections."""

BILINGUAL = re.compile(r"[A-Za-z].* \([^()]*[\u4e00-\u9fff][^()]*\)")


# --- The chapters ---------------------------------------------------------------------


@each_chapter
def test_no_number_is_typed(chapter: Path) -> None:
    assert [str(finding) for finding in gate.check(chapter)] == []


@each_chapter
def test_every_heading_is_in_both_languages(chapter: Path) -> None:
    found = gate.headings(chapter.read_text(encoding="utf-8"))
    assert found
    assert [h for h in found if not BILINGUAL.fullmatch(h.text)] == []


@pytest.mark.parametrize(("stem", "chinese"), PAPER_HEADINGS.items())
def test_a_section_of_the_paper_has_the_paper_heading(stem: str, chinese: str) -> None:
    chapter = paths.ROOT / "book" / f"{stem}.md"
    title = gate.headings(chapter.read_text(encoding="utf-8"))[0]
    assert title.text.endswith(f" ({chinese})")


@each_chapter
def test_no_sentence_gives_data_a_meaning_it_lacks(chapter: Path) -> None:
    assert misreadings(chapter.read_text(encoding="utf-8")) == []


# --- Meanings -------------------------------------------------------------------------

QUEUE = r"(?:\bqueu\w*|\bwait(?:ed|ing) times?\b|排队)"
PERMITTED = (
    r"(?:\b(?:permi\w+|allow\w*|accept\w*|tolera\w+)\b[^.]{0,40}\b(?:delay|wait|late)\w*"
    r"|\b(?:delay|wait)\w*\b[^.]{0,40}\b(?:permi\w+|allow\w*|accept\w*|tolera\w+)"
    r"|(?:允许|可接受|容忍)[^。]{0,6}(?:延期|等待|推迟|延迟))"
)
SLACK = r"(?:\bslack\b|时间余量)"
AGREEMENT = r"(?:\bSLAs?\b|\bservice[- ]level\b|服务等级)"
NEGATION = re.compile(
    r"\b(?:not?|never|nothing|none|neither|nor|cannot|without|refuses?|fails? when|tempting)\b"
    r"|n't\b|[不非未没无]",
    re.IGNORECASE,
)
MISREADINGS = tuple(
    (re.compile(subject, re.IGNORECASE), re.compile(meaning, re.IGNORECASE))
    for subject, meaning in ((QUEUE, PERMITTED), (SLACK, AGREEMENT))
)


def misreadings(source: str) -> list[str]:
    """Return the sentences that call a queue a permitted delay, or slack an agreement.

    The subject may stand in the sentence before; a denial has to come before the meaning.
    """
    text = " ".join(piece.text.strip() for piece in gate.prose(source))
    sentences = ["", *re.split(r"(?<=[.;:!?])\s+|(?<=[。；：！？])", text)]
    found = []
    for before, sentence in pairwise(sentences):
        for subject, meaning in MISREADINGS:
            said = meaning.search(sentence)
            about = subject.search(f"{before} {sentence}")
            if said and about and not NEGATION.search(sentence[: said.end()]):
                found.append(sentence)
    return found


@pytest.mark.parametrize(
    "sentence",
    [
        "The queue time is the delay that users permit.",
        "The queue time is a permitted delay, not an estimate.",
        "The trace holds a queue time and this is what users accept as a delay.",
        "A permitted delay can be read from the queue.",
        "Queueing shows how much waiting is acceptable.",
        "排队时间就是允许延期的时间。",
        "The slack s is a service level agreement.",
        "An SLA gives the slack of each job.",
        "时间余量即服务等级协议。",
    ],
)
def test_a_forbidden_meaning_is_found(sentence: str) -> None:
    assert misreadings(f"# H (题)\n\nA good sentence. {sentence}\n") == [sentence]


def test_a_forbidden_meaning_is_found_across_two_sentences() -> None:
    source = "# H (题)\n\nThe trace has a queue time.\nIt is the delay that users accept.\n"
    assert misreadings(source) == ["It is the delay that users accept."]


@pytest.mark.parametrize(
    "sentence",
    [
        "The queue time is not a permitted delay.",
        "A slack is never a service level agreement (SLA).",
        "排队时间不是允许延期的时间。",
        "The queue time describes a scheduler.",
        "The slack is an experimental setting.",
    ],
)
def test_a_denial_or_a_plain_description_passes(sentence: str) -> None:
    assert misreadings(f"# H (题)\n\n{sentence}\n") == []


# --- The gate itself ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "line", "digits"),
    [
        ("# H\n\nThe median is 300 s.\n", 3, "300"),
        ("# H\n\nOne line.\nThe second has 19 jobs.\n", 4, "19"),
        ("# H\n\n中位数为300秒。\n", 3, "300"),
        ("# H\n\n中位数为３００秒。\n", 3, "３００"),
        ("Half is ½ of it.\n", 1, "½"),
        ("A share of 46.1 %.\n", 1, "46"),
        ("Written in **bold 7** here.\n", 1, "7"),
        ("- an item\n- with 5 jobs\n", 2, "5"),
        ("> quoted\n> 6 times\n", 2, "6"),
        ("| a | b |\n|---|---|\n| x | y |\n| z | 1,969 |\n", 4, "1"),
        ("term\n: defined by 8\n", 2, "8"),
        ("A [link to 12](https://example.org/).\n", 1, "12"),
        ("![a picture of 4](a.png)\n", 1, "4"),
        ("A note.[^n]\n\n[^n]: It says 9.\n", 3, "9"),
        ("See {ref}`the 392 rows <sec-funnel>`.\n", 1, "392"),
        ("A {sub}`3` role of text.\n", 1, "3"),
        ("In code `300` or maths.\n", 1, "300"),
        ("In code `300 s` with a unit.\n", 1, "300"),
        ("In maths $300$ too.\n", 1, "300"),
        (r"In maths $300\,\mathrm{s}$ too." + "\n", 1, "300"),
        ("By reference &#51; it is.\n", 1, "3"),
        ("{{ 207378 }}\n", 1, "207378"),
        ("<p>raw 11</p>\n", 1, "11"),
        ("Inline <b>13</b> too.\n", 1, "13"),
        ("```{result-figure} x/a.svg\n:name: fig-1\n\nCaption with 95 jobs.\n```\n", 4, "95"),
        ("```{result-table} x/a.csv\n---\nname: tab-1\n---\nOf 95 jobs.\n```\n", 5, "95"),
        (":::{note}\nfirst\n\nsecond 21\n:::\n", 4, "21"),
        (":::{admonition} Title of 22\ntext\n:::\n", 1, "22"),
        ("::::{note}\n:::{tip}\ninner 23\n:::\n::::\n", 3, "23"),
        ("A role {num}`a.p50`\nand\n24 jobs\n", 3, "24"),
        ("In March 2023 it began.\n", 1, "2023"),
        ("A value 1.5x larger.\n", 1, "1"),
    ],
)
def test_a_planted_number_is_found(tmp_path: Path, source: str, line: int, digits: str) -> None:
    chapter = tmp_path / "planted.md"
    chapter.write_text(source, encoding="utf-8")
    found = gate.check(chapter)
    assert (found[0].line, found[0].digits) == (line, digits)
    assert f"planted.md:{line}: typed number '{digits}'" in str(found[0])


@pytest.mark.parametrize(
    "source",
    [
        "# Heading 3.1 (题 2)\n\ntext\n",
        "The median is {num}`pool.duration_s.p50` or {claim}`pool.duration_s.p50|value`.\n",
        "See {cite:p}`hu2024acme`, {eq}`eq-1` and {numref}`fig-2`.\n",
        "See {ref}`the pool <sec-3-1>`.\n",
        "The column `gpu_num` and the call `f(x, 3)`.\n",
        "```bash\nmake -j 2\n```\n",
        "```{code-block} python\nx = 3\n```\n",
        "    x = 3\n",
        "$$\nx = 3\n$$ (eq-3)\n",
        "```{math}\n:label: eq-4\nx = 4\n```\n",
        "Inline $q_1 = t_2$ maths.\n",
        "A [link](https://example.org/2024/1) and <https://example.org/2>.\n",
        "![a picture](fig1.png)\n",
        "```{result-figure} 31_task_pool/ecdf.svg\n:name: fig-1\n:width: 80%\n\nCaption.\n```\n",
        "```{claims} 3.1\n```\n",
        "1. first\n2. second\n",
        "An H100 and a p95, Llama2-70B and 用H100的节点。\n",
        "It began on 2023-03-01.\n",
        "By eq. (1) and (2) of the paper.\n",
        "The licence is CC BY 4.0.\n",
        "% a comment with 3\n\ntext\n",
        "(sec-3)=\n\ntext\n",
        "Three classes, 三类状态.\n",
    ],
)
def test_an_allowed_form_passes(tmp_path: Path, source: str) -> None:
    chapter = tmp_path / "allowed.md"
    chapter.write_text(source, encoding="utf-8")
    assert gate.check(chapter) == []


def test_every_allowed_form_has_a_name_and_a_reason() -> None:
    names = [allowed.name for allowed in gate.ALLOWED]
    assert len(set(names)) == len(names)
    assert all(allowed.reason for allowed in gate.ALLOWED)


@pytest.mark.parametrize("allowed", gate.ALLOWED, ids=lambda allowed: allowed.name)
def test_an_allowed_form_never_stretches_over_a_typed_number(allowed: gate.Allowed) -> None:
    assert allowed.pattern.search("of 300 jobs, 1,969 s, 46.1 % (5) and 0.2 s.") is None
