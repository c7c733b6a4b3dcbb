import argparse

import pytorch_lightning as pl

from module import Module

parser = argparse.ArgumentParser()
parser.set_defaults(limit_val_batches=0)
pl.Trainer.from_argparse_args(parser.parse_args()).fit(Module())
