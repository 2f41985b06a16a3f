"""Pictures: labelled numbers in, figures out. No torch, no streamlit."""
