from typing import Any

from crossbandit.core.uniforms import Uniforms
from crossbandit.laws.levels import Levels

LawCore: Any

class LawParts:
    core: Any
    uniforms: Uniforms
    levels: Levels
