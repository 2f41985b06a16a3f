"""How a forward pass is observed and edited: every tensor is given its name where it is born, `q = tap("q", …)`.

A tap returns the tensor that the pass goes on with, so reading and editing are one line of the model's code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Final

from torch import Tensor

Edit = Callable[[Tensor], Tensor] | Tensor


class Tap:
    """Lets every tensor through unseen: the pass of a model that nobody watches.

    Attributes:
        watches: Whether anybody looks at the tensors. A pass may leave out steps that nobody sees.
    """

    watches: bool = False

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Return what the pass goes on with in the place of `tensor`."""
        return tensor

    def within(self, place: str | int) -> Tap:
        """Return the tap for a part of the model, in which each name begins with `place`."""
        return self


NO_TAP: Final = Tap()


class Recorder(Tap):
    """Keeps every tensor by its name, and edits those it is told to.

    Args:
        edits: What stands in for a tensor, by full name: another tensor, or a function of the original, which has the
            batch axis first. What stands in may leave the batch axis out; it then stands in for every sample.

    Attributes:
        tensors: What was seen, after edits, in the order of the pass.
    """

    watches = True

    def __init__(self, edits: Mapping[str, Edit] | None = None) -> None:
        self.tensors: dict[str, Tensor] = {}
        self._edits = dict(edits or {})
        self._prefix = ""

    def __call__(self, name: str, tensor: Tensor) -> Tensor:
        """Keep `tensor` under its full name, edited if an edit has that name.

        Raises:
            ValueError: If the pass has had a tensor of this name, or an edit changes the shape, type or device.
        """
        name = self._prefix + name
        if name in self.tensors:
            raise ValueError(f"two tensors of one pass are called {name!r}")
        if name in self._edits:
            tensor = _edited(name, tensor, self._edits[name])
        self.tensors[name] = tensor
        return tensor

    def within(self, place: str | int) -> Recorder:
        """Return a recorder that writes into the same record, each name beginning with `place`."""
        inner = Recorder.__new__(Recorder)
        inner.tensors = self.tensors
        inner._edits = self._edits
        inner._prefix = f"{self._prefix}{place}."
        return inner

    def check_edits(self) -> None:
        """Say so if an edit met no tensor; call it when the pass is over.

        Raises:
            ValueError: If a name to be edited did not occur; the message has the names that look like it.
        """
        for name in self._edits:
            if name not in self.tensors:
                near = get_close_matches(name, self.tensors, n=3)
                raise ValueError(f"no tensor of this pass is called {name!r}, so it can't be edited; near it: {near}")


def _edited(name: str, tensor: Tensor, edit: Edit) -> Tensor:
    new = edit if isinstance(edit, Tensor) else edit(tensor)
    if new.shape == tensor.shape[1:]:
        new = new.expand_as(tensor)
    for what in ("shape", "dtype", "device"):
        before, after = getattr(tensor, what), getattr(new, what)
        if before != after:
            raise ValueError(f"the edit of {name!r} must keep its {what} {_plain(before)}, but gives {_plain(after)}")
    return new


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
