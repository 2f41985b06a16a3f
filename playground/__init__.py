"""Everything between the model and the screen."""
