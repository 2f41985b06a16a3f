"""Many visitors: what a click on another page costs while others train, and what is left of visitors who have gone.

A visitor here is a websocket that speaks Streamlit's protocol as a browser does: opens a page, clicks, asks after its
training as often as the page says. So nothing but the server is measured.
"""

from __future__ import annotations

import statistics
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.benchmarks import Measure
from tests.benchmarks.start import server

CLICKS = 20  # a block; the pages in turns
BLOCKS = 3
PAGES = ("one_head", "scaling")
VISITORS = 20
TRAINED = 1.5  # seconds for which each of them trains
# A training that outlasts the measurement, of a model that keeps a core busy.
LONG = "v=1&steps=4000&d_model=128"
PATIENCE = 120.0  # seconds


def measure() -> list[Measure]:
    """Measure clicks beside no, one and two trainings; then memory and processes after visitors who came and went."""
    return [*clicks(), *leaving()]


def clicks() -> list[Measure]:
    """Return what a click on another page takes while others train, against none, block by block in turns."""
    times: dict[int, list[float]] = {0: [], 1: [], 2: []}
    with server() as (address, _), Visitor(address) as idle:
        idle.open(PAGES[0])
        _block(idle)
        for _ in range(BLOCKS):
            for trainings in times:
                with ExitStack() as stack:
                    for _ in range(trainings):
                        stack.enter_context(training(address))
                    times[trainings] += _block(idle)
                time.sleep(0.5)
    alone = statistics.median(times[0])
    found = [Measure("a click on another page while nobody trains", 1_000 * alone, "ms", note=_range(times[0]))]
    for trainings in (1, 2):
        ratio = statistics.median(times[trainings]) / alone
        name = f"a click on another page while {trainings} train, against none"
        found.append(Measure(name, ratio, at_most=2.0, note=_range(times[trainings])))
    return found


def leaving() -> list[Measure]:
    """Return the memory after 20 visitors trained and left against that after two, and how many processes are left."""
    environment = {"PLAYGROUND_LEASE": "1", "PLAYGROUND_KEEP": "2"}
    with server(environment) as (address, _):
        web = _server(address)
        for _ in range(2):  # what is made once and kept is made by these
            _come_and_go(address)
        before = _settled(web, None)
        for _ in range(VISITORS):
            _come_and_go(address)
        after = _settled(web, before[1])
    note = f"{before[0] / 1e6:.0f} MB in {before[1]} processes, then {after[0] / 1e6:.0f} MB in {after[1]}"
    return [
        Measure(f"memory after {VISITORS} visitors trained and left", after[0] / before[0], at_most=1.1, note=note),
        Measure("processes left by them", after[1] - before[1], "", 0, note),
    ]


class Visitor:
    """A browser's end of Streamlit's protocol. Use as a context: leaving it closes the tab.

    Args:
        address: Of the server.
    """

    def __init__(self, address: str) -> None:
        with urllib.request.urlopen(address) as page:
            cookie = page.headers["Set-Cookie"].split(";")[0]
        socket = address.replace("http", "ws", 1) + "/_stcore/stream"
        headers = {"Cookie": cookie, "Origin": address}
        self._socket = connect(
            socket, subprotocols=["streamlit"], additional_headers=headers, max_size=None, compression=None
        )
        self._page, self.query = "", ""
        self.buttons: dict[str, str] = {}  # id by key
        self.fragments: dict[str, float] = {}  # seconds between two asks, by id

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    def open(self, page: str, query: str = "v=1") -> float:
        """Go to a page, as by its name in the menu; return the seconds until it is whole."""
        self._page, self.query = page, query
        self.fragments.clear()
        return self._run()

    def click(self, key: str) -> float:
        """Press a button; return the seconds until the page is whole again."""
        self.fragments.clear()
        return self._run(button=self.buttons[key])

    def ask(self) -> None:
        """Let the page's fragments run again, as their timers do."""
        for fragment in list(self.fragments):
            if fragment in self.fragments:  # the page may have begun anew for the one before
                with suppress(TimeoutError):  # nobody answers for one that is no more
                    self._run(fragment=fragment)

    def _run(self, *, button: str = "", fragment: str = "") -> float:
        message = BackMsg()
        script = message.rerun_script
        script.page_name, script.query_string = self._page, self.query
        script.context_info.locale = "en-GB"
        if fragment:
            script.fragment_id, script.is_auto_rerun = fragment, True
        if button:
            widget = script.widget_states.widgets.add()
            widget.id, widget.trigger_value = button, True
        started = time.perf_counter()
        self._socket.send(message.SerializeToString())
        self._hear(is_fragment=bool(fragment))
        return time.perf_counter() - started

    def _hear(self, *, is_fragment: bool) -> None:
        """Take in what the server sends until the script has ended, and not because it begins anew."""
        begun = 0
        while True:
            data = self._socket.recv(timeout=3.0 if is_fragment else PATIENCE)
            assert isinstance(data, bytes)
            message = ForwardMsg.FromString(data)
            kind = message.WhichOneof("type")
            if kind == "delta" and message.delta.new_element.HasField("button"):
                identity = message.delta.new_element.button.id
                self.buttons[identity.rsplit("-", 1)[-1]] = identity
            elif kind == "new_session":
                begun += 1
                if begun > is_fragment:  # the whole page, with timers of its own
                    self.fragments.clear()
            elif kind == "auto_rerun":
                self.fragments[message.auto_rerun.fragment_id] = message.auto_rerun.interval
            elif kind == "page_info_changed":
                self.query = message.page_info_changed.query_string
            elif kind == "script_finished":
                status = message.script_finished
                if status == ForwardMsg.FINISHED_SUCCESSFULLY or (
                    is_fragment and status == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY
                ):
                    return


@contextmanager
def training(address: str) -> Iterator[None]:
    """Have a visitor who trains, and whose page asks after it twice a second; who stops it at the end."""
    over = threading.Event()
    with Visitor(address) as visitor:
        visitor.open("train", LONG)
        visitor.click("train_start")

        def watch() -> None:
            with suppress(ConnectionClosed):
                while not over.wait(0.5):
                    visitor.ask()

        watching = threading.Thread(target=watch)
        watching.start()
        time.sleep(1.5)  # past its start
        try:
            yield
        finally:
            over.set()
            watching.join()
            visitor.open("train", LONG)
            visitor.click("train_stop")


def _block(visitor: Visitor) -> list[float]:
    found = []
    for click in range(CLICKS):
        found.append(visitor.open(PAGES[(click + 1) % len(PAGES)]))
        time.sleep(0.05)
    return found


def _come_and_go(address: str) -> None:
    with Visitor(address) as visitor:
        visitor.open("train", LONG)
        visitor.click("train_start")
        begun = time.monotonic()
        # The page takes the run into its address when the first weights are recorded.
        while "run=" not in visitor.query or time.monotonic() < begun + TRAINED:
            if time.monotonic() > begun + PATIENCE:
                raise TimeoutError(f"no training began in {PATIENCE} s")
            visitor.ask()
            time.sleep(0.5)


def _range(times: list[float]) -> str:
    return f"{len(times)} clicks, {1_000 * min(times):.0f} to {1_000 * max(times):.0f} ms, websocket client"


# --- Processes, as Linux tells of them -------------------------------------------------------------------------------


def _server(address: str) -> int:
    port = f"--server.port={address.rsplit(':', 1)[1]}".encode()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if port in path.read_bytes().split(b"\0"):
                return int(path.parent.name)
    raise RuntimeError("the server's process is not to be found; this measurement needs Linux")


def _tree(root: int) -> Mapping[int, int]:
    """Return the memory of a process and all below it: bytes by process, what is shared divided by those who share."""
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = int(path.read_text().rsplit(") ", 1)[1].split()[1])
            parents.setdefault(parent, []).append(int(path.parent.name))
    found, waiting = {}, [root]
    while waiting:
        process = waiting.pop()
        waiting += parents.get(process, [])
        with suppress(OSError):
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
            found[process] = 1_024 * int(rollup.split("\nPss:")[1].split()[0])
    return found


def _settled(root: int, processes: int | None) -> tuple[int, int]:
    """Return memory and number of processes once the latter stays; give up waiting for `processes` after a while."""
    until = time.monotonic() + 60.0
    last, same = -1, 0
    while time.monotonic() < until and (same < 10 or (processes is not None and last > processes)):
        now = len(_tree(root))
        same = same + 1 if now == last else 0
        last = now
        time.sleep(0.5)
    found = _tree(root)
    return sum(found.values()), len(found)
