"""Section numbers as the paper has them: files are numbered, headings within a page are not."""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector

Numbers = tuple[int, ...]


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
        chapters = _entries(env.get_doctree(page), only_numbered=True)
        for position, chapter in enumerate(chapters, start=1):
            _number(env, chapter, (position,))
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
        title["anchorname"]: numbers,
        **{heading["anchorname"]: None for heading in headings},  # type: ignore[misc]
    }
    for position, section in enumerate(_entries(contents), start=1):
        _number(env, section, (*numbers, position))


def _entries(tree: nodes.Node, *, only_numbered: bool = False) -> list[str]:
    return [
        page
        for toctree in tree.findall(addnodes.toctree)
        if toctree.get("numbered") or not only_numbered
        for _, page in toctree["entries"]
    ]
