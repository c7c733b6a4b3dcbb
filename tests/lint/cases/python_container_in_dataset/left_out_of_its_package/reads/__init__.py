from .chosen import Chosen
