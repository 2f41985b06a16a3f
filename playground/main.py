"""The router: what the launcher, a test or `streamlit run` starts for each visitor and each click.

Everything stands under the guard: while a script runs, `__main__` is this file, and a process that is started then
would import it again.
"""

if __name__ == "__main__":
    import sys
    from pathlib import Path

    # Streamlit puts this file's folder on the path, not the project's.
    if (root := str(Path(__file__).resolve().parents[1])) not in sys.path:
        sys.path.insert(0, root)

    from playground.ui.frame import navigate

    navigate()
