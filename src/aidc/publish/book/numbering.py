"""Section numbers as the paper has them: files are numbered, headings within a page are not.

The first numbered part of the table of contents counts 1, 2, 3; each later one is an
appendix and goes on with A, B, C.
"""

from __future__ import annotations

from string import ascii_uppercase

from docutils import nodes
from sphinx import addnodes
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector

Numbers = tuple[int | str, ...]


def install() -> None:
    """Let Sphinx number the files of a numbered table of contents, and nothing else.

    Sphinx counts the headings of a page together with the pages below it, so an
    introduction with a heading of its own would move section 2.1 to 2.2.
    """
    TocTreeCollector.assign_section_numbers = _assign  # type: ignore[assignment,method-assign]


def _assign(collector: TocTreeCollector, env: BuildEnvironment) -> list[str]:
    """Number every file; return the pages whose number is not what it was."""
    earlier = env.toc_secnumbers
    env.toc_secnumbers = {}
    for page in sorted(env.numbered_toctrees):
        first, *appendices = _numbered_parts(env.get_doctree(page))
        for position, chapter in enumerate(first, start=1):
            _number(env, chapter, (position,))
        later = [chapter for part in appendices for chapter in part]
        for letter, chapter in zip(ascii_uppercase, later, strict=False):
            _number(env, chapter, (letter,))
    return [page for page, found in env.toc_secnumbers.items() if found != earlier.get(page)]


def _number(env: BuildEnvironment, page: str, numbers: Numbers) -> None:
    contents = env.tocs[page]
    title, *headings = contents.findall(nodes.reference)
    # Lists, and a None for every heading: what sphinx-external-toc expects to find.
    title["secnumber"] = env.titles[page]["secnumber"] = list(numbers)
    for heading in headings:
        heading["secnumber"] = None
    # None, rather than nothing: Sphinx gives a heading that is not listed its page's number.
    env.toc_secnumbers[page] = {
        title["anchorname"]: numbers,  # type: ignore[dict-item]
        **{heading["anchorname"]: None for heading in headings},  # type: ignore[misc]
    }
    for position, section in enumerate(_entries(contents), start=1):
        _number(env, section, (*numbers, position))


def _numbered_parts(tree: nodes.Node) -> list[list[str]]:
    """Return the pages of each numbered part; an empty first one if there is none."""
    parts = [_listed(toc) for toc in tree.findall(addnodes.toctree) if toc.get("numbered")]
    return parts or [[]]


def _entries(tree: nodes.Node) -> list[str]:
    return [page for toctree in tree.findall(addnodes.toctree) for page in _listed(toctree)]


def _listed(toctree: nodes.Element) -> list[str]:
    return [page for _, page in toctree["entries"]]
