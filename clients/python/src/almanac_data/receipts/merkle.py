"""Merkle trees with SHA-256: RFC 6962, and the algorithms of RFC 9162, section 2.1."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from almanac_data.receipts.exact_json import Json, Refused, canonical, demand

_FORKED = "The log does not extend the earlier checkpoint."


def leaf_hash(leaf: Json) -> bytes:
    """The hash of a leaf, which is an object in canonical JSON."""
    return sha256(b"\x00" + canonical(leaf).encode()).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


def root_of(leaf: Json, index: int, size: int, path: Sequence[bytes], what: str) -> bytes:
    """The root to which a path leads from the leaf at `index` of `size` leaves."""
    demand(index < size, f"{what}: the leaf lies outside its tree.")
    node, last, root = index, size - 1, leaf_hash(leaf)
    for sibling in path:
        demand(last > 0, f"{what}: the path is too long.")
        if node % 2 == 1 or node == last:
            root = node_hash(sibling, root)
            while node % 2 == 0 and node != 0:
                node, last = node // 2, last // 2
        else:
            root = node_hash(root, sibling)
        node, last = node // 2, last // 2
    demand(last == 0, f"{what}: the path is too short.")
    return root


def root_of_several(leaves: Sequence[tuple[int, bytes]], size: int, path: Sequence[bytes], what: str) -> bytes:
    """The root over some leaves (index, hash) and the roots of the parts without any, from left to right."""
    indexes = [index for index, _ in leaves]
    demand(indexes == sorted(set(indexes)), f"{what}: the leaves are not in order.")
    demand(all(index < size for index in indexes), f"{what}: a leaf lies outside its tree.")
    rest = iter(path)

    def climb(own: Sequence[tuple[int, bytes]], first: int, end: int) -> bytes:
        if not own:
            found = next(rest, None)
            if found is None:
                raise Refused(f"{what}: the path is too short.")
            return found
        if end - first == 1:
            return own[0][1]
        middle = first + (1 << (end - first - 1).bit_length() - 1)
        left = climb([one for one in own if one[0] < middle], first, middle)
        return node_hash(left, climb([one for one in own if one[0] >= middle], middle, end))

    root = climb(leaves, 0, size)
    demand(next(rest, None) is None, f"{what}: the path is too long.")
    return root


def root_over(leaves: Iterable[Json]) -> bytes:
    """The root over the leaves of a whole tree, of which there is at least one."""
    level = [leaf_hash(leaf) for leaf in leaves]
    while len(level) > 1:
        above = [node_hash(left, right) for left, right in zip(level[::2], level[1::2], strict=False)]
        level = above + level[2 * len(above) :]
    return level[0]


def verify_consistency(earlier: tuple[int, bytes], later: tuple[int, bytes], path: Sequence[bytes]) -> None:
    """Refuses unless the later tree (size, root) begins with all leaves of the earlier one."""
    (old_size, old_root), (new_size, new_root) = earlier, later
    if old_size == new_size:
        demand(old_root == new_root, _FORKED)
        return
    node, last = old_size - 1, new_size - 1
    while node % 2 == 1:
        node, last = node // 2, last // 2
    # A complete earlier tree is itself the first node of the path.
    nodes = list(path) if node else [old_root, *path]
    if not nodes:
        raise Refused(_FORKED)
    old = new = nodes[0]
    for sibling in nodes[1:]:
        demand(last > 0, _FORKED)
        if node % 2 == 1 or node == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while node % 2 == 0 and node != 0:
                node, last = node // 2, last // 2
        else:
            new = node_hash(new, sibling)
        node, last = node // 2, last // 2
    demand(last == 0 and old == old_root and new == new_root, _FORKED)
