"""What can be said of a picture without an eye: whether its edge cuts something."""
import io

import numpy as np
from PIL import Image


def edge_is_white(png: bytes) -> bool:
    """Whether the outermost pixels are blank. Text or a mark that reaches over the edge leaves ink there."""
    grey = np.asarray(Image.open(io.BytesIO(png)).convert("L"))
    return bool(min(grey[0].min(), grey[-1].min(), grey[:, 0].min(), grey[:, -1].min()) > 250)
