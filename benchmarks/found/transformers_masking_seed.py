"""A seeded masking collator of transformers masks the same tokens in every epoch: each starts its workers anew.

    python benchmarks/found/transformers_masking_seed.py

Needs torch and transformers. No pretrained tokenizer is loaded: one of a few words is made.
"""

from __future__ import annotations

import torch
from tokenizers import Tokenizer, models
from torch.utils.data import DataLoader
from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerFast


def main() -> None:
    words = {name: number for number, name in enumerate(["[PAD]", "[MASK]", "[UNK]", *map(str, range(1000))])}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, "[UNK]")),
        pad_token="[PAD]", mask_token="[MASK]", unk_token="[UNK]",
    )  # fmt: skip
    rows = [{"input_ids": list(range(10, 74))} for _ in range(64)]
    for seed in (None, 42):
        collate = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15, seed=seed)
        loader = DataLoader(rows, batch_size=8, num_workers=2, collate_fn=collate)  # type: ignore[arg-type]
        epochs = [torch.cat([batch["labels"] != -100 for batch in loader]) for _ in range(3)]
        alike = [sum(torch.equal(*pair) for pair in zip(epochs[0], other, strict=True)) for other in epochs[1:]]
        print(f"seed={seed}: texts masked as in epoch 1: {alike[0]} of 64 in epoch 2, {alike[1]} of 64 in epoch 3")


if __name__ == "__main__":
    main()
