"""Which heads of queries read which heads of keys and values, as two rows of boxes and the lines between them."""

from __future__ import annotations

from collections.abc import Sequence

from playground.figures.sheet import Figure, layout, literal
from playground.figures.theme import Theme

MOST_HEADS = 128


def sharing(readers: Sequence[int], *, titles: tuple[str, str], theme: Theme, height: int = 360) -> Figure:
    """Draw heads of queries above, heads of keys and values below, and a line from each to what it reads.

    Args:
        readers: For each head of queries, the head of keys and values that it reads, counted from 0.
        titles: What stands at the left of the two rows.
        theme: Colours and type.
        height: Pixels.

    Raises:
        ValueError: If there is no head or are more than `MOST_HEADS`, or one is left unread.
    """
    n_heads, n_kv = len(readers), max(readers, default=-1) + 1
    if not 0 < n_heads <= MOST_HEADS:
        raise ValueError(f"1 to {MOST_HEADS} heads are drawn, but got {n_heads}")
    if set(readers) != set(range(n_kv)):
        raise ValueError(f"every head of keys and values is read, but of {n_kv} only {sorted(set(readers))} are")
    middle = [[h for h, kv in enumerate(readers) if kv == each] for each in range(n_kv)]
    below = [sum(heads) / len(heads) for heads in middle]
    apart = min(0.2, 0.42 * n_heads / max(n_kv, 1) / 2)
    lines = {
        "type": "scatter",
        "mode": "lines",
        "x": [x for head, kv in enumerate(readers) for x in (head, below[kv], None)],
        "y": [y for _ in readers for y in (1.0, 0.0, None)],
        "line": {"color": theme.muted, "width": 2},
        "hoverinfo": "skip",
    }
    size = max(14, min(46, 700 // (2 * n_heads)))

    def boxes(xs: list[float], y: float, letter: str, colour: str, said: list[str]) -> dict[str, object]:
        return {
            "type": "scatter",
            "mode": "markers+text",
            "x": xs,
            "y": [y] * len(xs),
            "marker": {"symbol": "square", "size": size, "color": colour},
            "text": [f"{letter}<sub>{i}</sub>" for i in range(len(xs))] if size >= 24 else [letter] * len(xs),
            "textfont": {"size": min(theme.font_size + 3, size * 0.5), "color": theme.background},
            "hovertext": said,
            "hoverinfo": "text",
            "cliponaxis": False,
        }

    reads = [f"Q{head} → K{kv}, V{kv}" for head, kv in enumerate(readers)]
    read = [f"K{kv}, V{kv} ← " + ", ".join(f"Q{head}" for head in heads) for kv, heads in enumerate(middle)]
    data = [
        lines,
        boxes([float(head) for head in range(n_heads)], 1.0, "Q", theme.query, reads),
        boxes([x - apart for x in below], 0.0, "K", theme.key, read),
        boxes([x + apart for x in below], 0.0, "V", theme.value, read),
    ]
    rows = zip(titles, (1.0, 0.0), (theme.query, theme.key), strict=True)
    notes = [
        {
            "text": literal(title),
            "xref": "paper",
            "x": 0,
            "y": y + 0.28,
            "showarrow": False,
            "xanchor": "left",
            "font": {"size": theme.font_size + 2, "color": colour},
        }
        for title, y, colour in rows
    ]
    hidden = {"visible": False, "fixedrange": True}
    return Figure(
        {
            "data": data,
            "layout": layout(
                theme,
                height=height,
                xaxis={**hidden, "range": [-0.8, n_heads - 0.2]},
                yaxis={**hidden, "range": [-0.35, 1.5]},
                margin={"l": 8, "r": 8, "t": 8, "b": 8},
                annotations=notes,
            ),
        }
    )
