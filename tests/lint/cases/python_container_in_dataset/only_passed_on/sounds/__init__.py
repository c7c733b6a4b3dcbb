from .tones import Heard, Played, Sung

__all__ = ["Heard", "Played", "Sung"]

KINDS = {"played": Played}
