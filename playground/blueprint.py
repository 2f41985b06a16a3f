"""The drawing of a model, as plain data: which blocks stand where, what flows between them, and where each one leads.

Figure 1 of the paper, with the numbers and choices of one `ModelConfig`: one tower or two, norms before or after their
sublayer, positions added or worked into the attention. No picture is drawn here; the browser does that.

Source: Vaswani et al. 2017, figure 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from models import ModelConfig

Kind = Literal[
    "embed", "positions", "add", "norm", "add_norm", "attention", "feed_forward", "memory", "linear", "softmax"
]
Stack = Literal["encoder", "decoder"]
Point = tuple[float, float]

# Positions that are a vector added to the embedding; the other methods work inside the attention.
ADDED_POSITIONS = ("sinusoidal", "learned")


@dataclass(frozen=True)
class Form:
    """The measures of a drawing, in pixels at its natural size.

    Attributes:
        name: `wide` or `narrow`.
        width: Of the whole drawing.
        edge: Beside a tower, on its outer side: the number of layers stands there.
        lane: Inside a tower, on its outer side: the residual connections run there.
        pad: Inside a tower, on its inner side.
        gap: Between the towers: the memory comes down there.
        block: Width of a block.
        attention, feed_forward, norm, embed, positions, memory, line: Heights of blocks; `line` of linear and softmax.
        bars: Height for the likeliest next words.
        spread: From the key's arrow to the query's and the value's.
    """

    name: str
    width: int
    edge: int
    lane: int
    pad: int
    gap: int
    block: int
    attention: int
    feed_forward: int
    norm: int
    embed: int
    positions: int
    memory: int
    line: int
    bars: int
    spread: int


WIDE = Form(
    name="wide",
    width=690,
    edge=52,
    lane=22,
    pad=12,
    gap=46,
    block=236,
    attention=54,
    feed_forward=40,
    norm=26,
    embed=40,
    positions=36,
    memory=34,
    line=30,
    bars=116,
    spread=32,
)
NARROW = Form(
    name="narrow",
    width=344,
    edge=28,
    lane=14,
    pad=6,
    gap=20,
    block=114,
    attention=62,
    feed_forward=50,
    norm=24,
    embed=50,
    positions=44,
    memory=44,
    line=26,
    bars=126,
    spread=28,
)
FORMS = (WIDE, NARROW)

SUBLAYERS = ("self_attn", "cross_attn", "ffn")

# Levels: room for arrows between blocks, bottom to top.
ARROW = 14  # a plain arrow
FORK = 32  # an arrow that parts into query, key and value, with the residual leaving below
LEAVE = 22  # an arrow that the residual leaves
CLOSE = 9  # a sublayer and its Add & Norm
CIRCLE = 22  # diameter of an addition
RIM = 14  # from the trunk's last part to the frame around the layers


@dataclass(frozen=True)
class Rect:
    """A place in the drawing: left, top, width and height in pixels, the origin at the top left."""

    x: float
    y: float
    w: float
    h: float


@dataclass(frozen=True)
class Block:
    """One block of the drawing, which is also a door.

    Attributes:
        name: Unique in the drawing, such as `decoder.cross_attn`.
        kind: What it is; the words for it hang on this.
        stack: The tower it stands in.
        tensor: Name of the tensor that it writes, `{layer}` left open in a block that stands for N.
        repeated: Whether it stands for one block in each of N layers.
        page: Page that explains it.
        picks: What to choose there, besides the layer.
        at: Its place.
        sizes: Numbers of the configuration that it is made with.
    """

    name: str
    kind: Kind
    stack: Stack
    tensor: str
    repeated: bool
    page: str
    picks: Mapping[str, str]
    at: Rect
    sizes: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Arrow:
    """What flows from one block, or from the words, into another.

    Attributes:
        source, target: Names of blocks, or `encoder.words`, `decoder.words`, `bars`.
        role: Whose colour it wears.
        skip: Whether it is a residual connection that goes around a sublayer.
        points: Corners of its way.
    """

    source: str
    target: str
    role: Literal["residual", "query", "key", "value", "memory"]
    points: tuple[Point, ...]
    skip: bool = False


@dataclass(frozen=True)
class Tower:
    """One stack: the frame around its N equal layers, and the side on which the residual connections run."""

    stack: Stack
    at: Rect
    side: Literal[-1, 1]


@dataclass(frozen=True)
class Blueprint:
    """The whole drawing.

    Attributes:
        form: Measures that it was laid out with.
        n_layers: Layers that a tower stands for.
        blocks, arrows, towers: In the order in which data flow.
        slots: Places for what changes with the sentence: `encoder.words` and `decoder.words` (they may grow
            downward), `bars`, and `card`, which shows a block's tensor.
        height: Of the drawing, without the words under it.
    """

    form: Form
    n_layers: int
    blocks: tuple[Block, ...]
    arrows: tuple[Arrow, ...]
    towers: tuple[Tower, ...]
    slots: Mapping[str, Rect]
    height: float

    def block(self, name: str) -> Block:
        """Return a block by name.

        Raises:
            KeyError: If there is none of that name; the message lists the names.
        """
        for block in self.blocks:
            if block.name == name:
                return block
        raise KeyError(f"no block {name!r} in this drawing; it has {[block.name for block in self.blocks]}")

    def inputs(self, name: str) -> tuple[str, ...]:
        """Return the names of all that flows directly into a block."""
        return tuple(dict.fromkeys(arrow.source for arrow in self.arrows if arrow.target == name))

    def tensors(self) -> tuple[str, ...]:
        """Return the name of every tensor that a block can show, all layers included."""
        names = (
            block.tensor.format(layer=layer)
            for block in self.blocks
            for layer in range(self.n_layers if block.repeated else 1)
        )
        return tuple(dict.fromkeys(names))

    def door(self, name: str, layer: int) -> tuple[str, dict[str, str | int]]:
        """Return the page behind a block and what to choose there; the layer is clamped to those there are."""
        block = self.block(name)
        picks: dict[str, str | int] = dict(block.picks)
        if block.repeated:
            picks["layer"] = max(0, min(layer, self.n_layers - 1))
        return block.page, picks


def blueprint(config: ModelConfig, form: Form = WIDE) -> Blueprint:
    """Lay out the drawing of a model."""
    draft = _Draft(config, form)
    if config.architecture != "decoder-only":
        draft.tower("encoder")
    if config.architecture != "encoder-only":
        draft.tower("decoder")
    draft.output()
    return draft.finished()


class _Draft:
    """A drawing under way. Heights are counted upward from the words, and turned around at the end."""

    def __init__(self, config: ModelConfig, form: Form) -> None:
        self.config = config
        self.form = form
        self.blocks: list[Block] = []
        self.arrows: list[Arrow] = []
        self.towers: list[Tower] = []
        self.slots: dict[str, Rect] = {}
        self.level = 0.0
        self.trunk = ""
        self.rim = 0  # way through a tower's frame, still to be added to the next arrow
        self.stack: Stack = "encoder"
        self.memory: Rect | None = None

    @property
    def side(self) -> Literal[-1, 1]:
        return -1 if self.stack == "encoder" else 1

    @property
    def frame(self) -> tuple[float, float]:
        """Left edge and width of the tower's frame."""
        form = self.form
        width = form.lane + form.block + form.pad
        return (form.edge if self.stack == "encoder" else form.width - form.edge - width), width

    @property
    def centre(self) -> float:
        """Middle of the tower's blocks, where the trunk runs."""
        left, _ = self.frame
        return left + (self.form.lane if self.stack == "encoder" else self.form.pad) + self.form.block / 2

    def tower(self, stack: Stack) -> None:
        """Draw a stack, from its words to its top."""
        config, form = self.config, self.form
        self.stack, self.level, self.trunk, self.rim = stack, 0.0, f"{stack}.words", 0
        left, width = self.frame
        self.slots[f"{stack}.words"] = Rect(left, 0.0, width, 0.0)
        sizes = {"vocab_size": config.vocab_size, "d_model": config.d_model}
        self.stand("embed", "embed", form.embed, ARROW, f"{stack}.embed", "embeddings", sizes=sizes)
        if config.positions in ADDED_POSITIONS:
            self.add_positions()
        if config.embed_norm:
            self.stand("embed_norm", "norm", form.norm, ARROW, f"{stack}.embed_norm", "embeddings")
        # Beside the circle there is room for the tower's name; without one, it needs some of its own.
        self.rim = RIM if self.blocks[-1].kind == "add" else RIM + 22
        bottom = self.level + self.rim
        self.sublayer("self_attn", "resid_mid")
        if stack == "decoder" and config.architecture == "encoder-decoder":
            self.sublayer("cross_attn", "resid_mid_cross")
        self.sublayer("ffn", "resid_post")
        top = self.level + 10
        self.towers.append(Tower(stack, Rect(left, bottom, width, top - bottom), self.side))
        self.rim = round(top - self.level)
        if config.final_norm:
            self.stand("final_norm", "norm", form.norm, ARROW, f"{stack}.final_norm", "layer")
        if stack == "encoder" and config.architecture == "encoder-decoder":
            self.stand(
                "memory", "memory", form.memory, ARROW, "memory", "one_head", picks={"where": "cross"}, role="memory"
            )
            self.memory = self.blocks[-1].at

    def add_positions(self) -> None:
        """Add the positions to the embedding: a circle on the trunk, the table beside it on the outer side."""
        form, centre = self.form, self.centre
        middle = self.level + 10 + form.positions / 2
        edge = centre + self.side * CIRCLE / 2  # where the positions' arrow ends
        near = centre + self.side * (CIRCLE / 2 + 18)
        far = 2.0 if self.stack == "encoder" else form.width - 2.0
        table = self.put(
            "positions",
            "positions",
            Rect(min(near, far), middle - form.positions / 2, abs(far - near), form.positions),
            f"{self.stack}.pos_embed",
            "positions",
            sizes={"method": self.config.positions},
        )
        total = self.circle("sum", middle, f"{self.stack}.0.resid_pre", "embeddings", repeated=False)
        self.flow(table, total, "residual", (near, middle), (edge, middle))
        self.level = middle + CIRCLE / 2

    def sublayer(self, name: str, result: str) -> None:
        """Draw a sublayer with its residual connection and norm."""
        config, form = self.config, self.form
        before = config.norm_placement == "pre"
        stack, tensor = self.stack, f"{self.stack}.{{layer}}.{name}"
        residual = self.trunk
        left_at = self.level + self.rim + 9
        if before:
            self.stand(f"{name}.norm", "norm", form.norm, LEAVE, f"{tensor}.input", "layer", repeated=True)
        if name == "ffn":
            gap = ARROW if before else LEAVE
            sizes: dict[str, int | str] = {
                "d_model": config.d_model,
                "d_ff": config.d_ff,
                "activation": config.activation,
            }
            inside = f"{tensor}.{'hidden' if config.n_experts == 1 else 'router'}"
            self.stand(name, "feed_forward", form.feed_forward, gap, inside, "layer", True, sizes=sizes)
        else:
            self.attention(name, f"{tensor}.weights")
        if not config.residual:
            if not before:
                self.stand(f"{name}.norm", "norm", form.norm, CLOSE, f"{stack}.{{layer}}.{result}", "layer", True)
            return
        if before:
            middle = self.level + CLOSE + CIRCLE / 2
            target = self.circle(f"{name}.add", middle, f"{stack}.{{layer}}.{result}", "layer", repeated=True)
            half = CIRCLE / 2
        else:
            self.stand(f"{name}.add", "add_norm", form.norm, CLOSE, f"{stack}.{{layer}}.{result}", "layer", True)
            target, middle, half = self.trunk, self.level - form.norm / 2, form.block / 2
        centre, side = self.centre, self.side
        lane = centre + side * (form.block / 2 + form.lane / 2)
        way = ((centre, left_at), (lane, left_at), (lane, middle), (centre + side * half, middle))
        self.flow(residual, target, "residual", *way, skip=True)
        if before:
            self.level = middle + CIRCLE / 2

    def attention(self, name: str, tensor: str) -> None:
        """Draw an attention block: value, key and query enter from below, in the paper's order."""
        config, form, centre = self.config, self.form, self.centre
        source, below = self.trunk, self.level
        rim, self.rim = self.rim, 0
        bottom = below + rim + FORK
        where = "cross" if name == "cross_attn" else self.stack
        sizes: dict[str, int | str] = {
            "n_heads": config.n_heads,
            "n_kv_heads": config.n_kv_heads,
            "d_head": config.d_head,
            "positions": config.positions if name == "self_attn" else "none",
        }
        rect = Rect(centre - form.block / 2, bottom, form.block, form.attention)
        block = self.put(name, "attention", rect, tensor, "one_head", {"where": where}, True, sizes)
        parted = bottom - 14
        value, key, query = centre - form.spread, centre, centre + form.spread
        if name == "cross_attn":
            memory = self.memory
            assert memory is not None  # the encoder is drawn first
            frame, _ = self.frame
            down = frame - form.gap / 2
            out = (memory.x + memory.w, memory.y + memory.h / 2)
            joint = (value, parted)
            self.flow("encoder.memory", block, "memory", out, (down, out[1]), (down, parted), joint)
            self.flow("encoder.memory", block, "value", joint, (value, bottom))
            self.flow("encoder.memory", block, "key", joint, (key, parted), (key, bottom))
            # The residual leaves to the right at the same level, so the query rises from it.
            leave = below + rim + 9
            self.flow(source, block, "query", (centre, below), (centre, leave), (query, leave), (query, bottom))
        else:
            joint = (centre, parted)
            self.flow(source, block, "residual", (centre, below), joint)
            self.flow(source, block, "value", joint, (value, parted), (value, bottom))
            self.flow(source, block, "query", joint, (query, parted), (query, bottom))
            self.flow(source, block, "key", joint, (key, bottom))
        self.level, self.trunk = bottom + form.attention, block

    def output(self) -> None:
        """Draw what turns the last tower's vectors into probabilities of the next word."""
        config, form = self.config, self.form
        sizes = {"d_model": config.d_model, "vocab_size": config.vocab_size}
        self.stand("linear", "linear", form.line, ARROW + 2, "logits", "output", sizes=sizes)
        self.stand("softmax", "softmax", form.line, ARROW - 2, "probs", "output", sizes=sizes)
        left, width = self.frame
        above = self.level + ARROW
        self.slots["bars"] = Rect(left, above, width, form.bars)
        self.flow(self.trunk, "bars", "residual", (self.centre, self.level), (self.centre, above))
        self.level = above + form.bars

    def finished(self) -> Blueprint:
        """Turn the levels around: the origin at the top left, y downward."""
        form, height = self.form, self.level + 4
        left, width = self.frame

        def turned(rect: Rect) -> Rect:
            return Rect(rect.x, height - rect.y - rect.h, rect.w, rect.h)

        if self.memory is not None:
            self.slots["card"] = Rect(0.0, self.memory.y + self.memory.h + 18, left - form.gap / 2 - 10, 0.0)
            card = self.slots["card"]
            self.slots["card"] = Rect(card.x, card.y, card.w, height - card.y)
        elif self.stack == "encoder":
            after = left + width + form.gap / 2 + 14
            self.slots["card"] = Rect(after, 0.0, form.width - after, height)
        else:
            self.slots["card"] = Rect(0.0, 0.0, left - form.gap / 2 - form.edge / 2, height)
        return Blueprint(
            form=form,
            n_layers=self.config.n_layers,
            blocks=tuple(_moved(block, turned(block.at)) for block in self.blocks),
            arrows=tuple(
                Arrow(a.source, a.target, a.role, tuple((x, height - y) for x, y in a.points), a.skip)
                for a in self.arrows
            ),
            towers=tuple(Tower(tower.stack, turned(tower.at), tower.side) for tower in self.towers),
            slots={name: turned(rect) for name, rect in self.slots.items()},
            height=height,
        )

    def stand(
        self,
        name: str,
        kind: Kind,
        height: float,
        gap: float,
        tensor: str,
        page: str,
        repeated: bool = False,
        *,
        picks: Mapping[str, str] | None = None,
        role: Literal["residual", "memory"] = "residual",
        sizes: Mapping[str, int | str] | None = None,
    ) -> None:
        """Put a block of full width on the trunk, `gap` above what stands there, with the arrow into it."""
        source, below = self.trunk, self.level
        bottom = below + self.rim + gap
        self.rim = 0
        rect = Rect(self.centre - self.form.block / 2, bottom, self.form.block, height)
        self.trunk = self.put(name, kind, rect, tensor, page, picks, repeated, sizes)
        self.flow(source, self.trunk, role, (self.centre, below), (self.centre, bottom))
        self.level = bottom + height

    def circle(self, name: str, middle: float, tensor: str, page: str, *, repeated: bool) -> str:
        """Put an addition on the trunk, with the arrow into it from below."""
        source, below = self.trunk, self.level
        rect = Rect(self.centre - CIRCLE / 2, middle - CIRCLE / 2, CIRCLE, CIRCLE)
        self.trunk = self.put(name, "add", rect, tensor, page, None, repeated)
        self.flow(source, self.trunk, "residual", (self.centre, below), (self.centre, rect.y))
        return self.trunk

    def put(
        self,
        name: str,
        kind: Kind,
        rect: Rect,
        tensor: str,
        page: str,
        picks: Mapping[str, str] | None = None,
        repeated: bool = False,
        sizes: Mapping[str, int | str] | None = None,
    ) -> str:
        """Put a block somewhere and return its full name."""
        full = name if kind in ("linear", "softmax") else f"{self.stack}.{name}"
        chosen = dict(picks or {})
        if page in ("layer", "embeddings"):
            chosen["stack"] = self.stack
        if page == "layer":
            part = name.split(".")[0]
            chosen["part"] = part if part in SUBLAYERS else SUBLAYERS[-1]
        self.blocks.append(Block(full, kind, self.stack, tensor, repeated, page, chosen, rect, dict(sizes or {})))
        return full

    def flow(
        self,
        source: str,
        target: str,
        role: Literal["residual", "query", "key", "value", "memory"],
        *points: Point,
        skip: bool = False,
    ) -> None:
        """Draw an arrow along some corners."""
        self.arrows.append(Arrow(source, target, role, points, skip))


def _moved(block: Block, at: Rect) -> Block:
    return Block(
        block.name, block.kind, block.stack, block.tensor, block.repeated, block.page, block.picks, at, block.sizes
    )
