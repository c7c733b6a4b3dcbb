"""Which torch a project is for, where its configuration does not say: what the nearest folder that speaks of it says.

The requirements of a folder come before its README and its pages about installing. What the code uses in every run
overrules them: a pin below the torch that first had it stands for that torch, and a file that no newer torch runs is
for an old one.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dl_lint.around import may_tell
from dl_lint.project import aged, declarations, needs
from dl_lint.project.syntax import dotted

if TYPE_CHECKING:
    from dl_lint.around import Around
    from dl_lint.facts import tree as t
    from dl_lint.project.declarations import Said, Version
    from dl_lint.project.model import Project
    from dl_lint.project.modules import Files


@dataclass(frozen=True, slots=True)
class Target:
    """The oldest and the newest torch that a project is for, as far as known; ``told`` is where that stands and as what
    it is written, empty for the configuration. ``promised`` is the oldest that requirements say is enough, or
    what prose says of it where no requirements do."""

    oldest: Version | None = None
    newest: Version | None = None
    told: str = ""
    promised: Version | None = None

    def lacks(self, since: Version) -> bool:
        """Whether the project is for a torch older than ``since`` only."""
        return self.newest is not None and self.newest < since

    def begins_before(self, since: Version) -> bool:
        """Whether the project promises to run with a torch older than ``since``, too."""
        return self.promised is not None and self.promised < since

    def is_known_to_have(self, since: Version) -> bool:
        return self.oldest is not None and self.oldest >= since


UNKNOWN = Target()

_TELLING = (declarations.readme, declarations.image)
"""What reads files that name the torch of one machine or image, and leave others open."""


def target(project: Project, near: t.Node) -> Target:
    """The torch that the code of ``near`` is for."""
    given = project.hints.target_torch
    if given is not None:
        return Target(given, given)
    files, file = project.evaluator.files, project.site(near).scope.file
    folder = os.path.dirname(files.keys[file])
    found: Target = project.evaluator.once(("target", folder), lambda: _inferred(project, files, folder))
    old = aged.ceiling(project, file)
    if old is None and aged.is_plain(file) and found is UNKNOWN:
        remnant = aged.remnant(project, near)
        if remnant is not None:
            return Target(None, aged.BEFORE, f"{remnant} is for torch 0.3 and older")
    if old is None and found is UNKNOWN:
        refused: Target | None = project.evaluator.once(
            ("refused by newer", folder), lambda: _refused_by_newer(project, files, folder)
        )
        if refused is not None:
            return refused
    if old is None or found.lacks(old[0]) or needs.needed(project, folder, aged.LAST) > aged.LAST:
        return found
    newest, node = old
    told = f"`{dotted(node)}[0]` ({project.told(project.place(node))}) is for torch 0.4 and older"
    return Target(None, newest, told)


def _refused_by_newer(project: Project, files: Files, folder: str) -> Target | None:
    """What code says that newer torches refuse, where nothing else speaks of a torch."""
    flattened = aged.flattened(project, folder)
    if flattened is not None and needs.needed(project, folder, aged.LAST_FLAT) == aged.LAST_FLAT:
        return Target(None, aged.LAST_FLAT, f"{flattened} is for torch 1.6 and older")
    abstract = aged.abstract(project, files.root)
    if abstract is not None and needs.needed(project, files.root, aged.LAST_ABC) == aged.LAST_ABC:
        return Target(None, aged.LAST_ABC, f"{abstract} is for torch 1.8 and older", aged.LAST)
    return None


def _inferred(project: Project, files: Files, folder: str) -> Target:
    while True:
        found = _known(project, files.around, folder)
        if found is not None:
            break
        if folder == files.root or not folder.startswith(files.root.rstrip("/") + "/"):
            return UNKNOWN
        folder = os.path.dirname(folder)
    source = _promising(project, files, folder, found)
    promised = source.stated if source is not None else None
    shown = source or found
    told = f"{files.around.shown(shown.path)}:{shown.line} says `{shown.text}`"
    if shown.implied and shown.newest is not None:
        told += " (for torch {}.{})".format(*shown.newest)
    least = promised or found.newest
    if least is None:
        return Target(found.oldest, None, told)
    needed = needs.needed(project, folder, least)
    if needed == least:
        return Target(found.oldest, found.newest, told, promised)
    newest = None if found.newest is None else max(found.newest, needed)
    return Target(needed, newest, told, None if promised is None else needed)


def _promising(project: Project, files: Files, folder: str, found: Said) -> Said | None:
    """What says which torch is enough: requirements, or prose where those around it leave that open. Requirements
    around prose that names the newest install a newer one."""
    while _is_prose(found) and folder != files.root and folder.startswith(files.root.rstrip("/") + "/"):
        folder = os.path.dirname(folder)
        outer = _known(project, files.around, folder)
        if outer is not None and not _is_prose(outer):
            if found.newest is not None:
                return None
            found = outer if outer.stated is not None else found
    return found


def _is_prose(said: Said) -> bool:
    name = os.path.basename(said.path)
    return not may_tell(name) or declarations.reader(name) in _TELLING


def _known(project: Project, around: Around, folder: str) -> Said | None:
    return project.evaluator.once(("declared", folder), lambda: _declared(around, folder))


def _declared(around: Around, folder: str) -> Said | None:
    """What a folder says: its requirements, its prose where those leave open what is too new or too old, else None."""
    required: list[Said] = []
    mentioned: list[Said] = []
    for name in around.names(folder):
        path = os.path.join(folder, name)
        read = declarations.reader(name)
        found = [replace(one, path=path) for one in read(around.text(path))]
        (mentioned if read in _TELLING else required).extend(found)
    for path in around.pages(folder):
        read = declarations.readme if may_tell(os.path.basename(path)) else declarations.page
        mentioned += [replace(one, path=path) for one in read(around.text(path))]
    wanted, named = _together(required), _together(mentioned)
    if named is not None:
        named = replace(named, stated=_enough(mentioned))
    if wanted is None or (wanted.stated is None and wanted.newest is None and named is not None):
        return named
    if wanted.newest is not None or named is None or named.newest is None:
        return wanted
    contradicts = wanted.oldest is not None and named.newest < wanted.oldest
    return wanted if contradicts else named


def _enough(mentioned: list[Said]) -> Version | None:
    """The torch that prose says is enough: ``PyTorch 1.6+``, unless a command installs a newer one, or it was tested
    with that; else the oldest of several that it says are supported, else the newest that it names."""
    least = [max(one.oldest, one.stated or one.oldest) for one in mentioned if one.oldest and not one.newest]
    if least:
        return max([*least, *(one.newest for one in mentioned if one.installs and one.newest)])
    supported = [one.stated for one in mentioned if one.stated]
    if supported:
        return min(supported)
    return max((number for one in mentioned for number in (one.newest, one.oldest) if number), default=None)


def _together(several: list[Said]) -> Said | None:
    """What several statements allow between them, said by the one that allows the newest. Requirements without any
    version leave it to those with one: a plain ``torch`` beside the pin of an environment, or beside that of a package
    built for one torch."""
    if not several:
        return None
    several = [one for one in several if one.newest is not None or one.oldest is not None] or several
    several = [one for one in several if not one.implied] or several
    last = max(several, key=lambda one: (one.newest is None, one.newest or (0, 0), one.oldest or (0, 0)))
    oldest = [one.oldest for one in several if one.oldest is not None]
    return replace(last, oldest=min(oldest) if len(oldest) == len(several) else None, stated=last.oldest)
