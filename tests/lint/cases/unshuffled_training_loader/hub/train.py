from datasets import DatasetDict, load_dataset, load_from_disk
from torch.utils.data import DataLoader


def fit(model, optimizer, loader, epochs):
    for epoch in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()


def by_split(model, optimizer, tokenize, collate):
    raw = load_dataset("imdb")
    rows = raw.map(tokenize, batched=True).remove_columns(["text"])
    rows.set_format("torch")
    train_loader = DataLoader(rows["train"], batch_size=8, collate_fn=collate)  # expect
    fit(model, optimizer, train_loader, 3)


def whole(model, optimizer, collate):
    rows = load_dataset("imdb", split="train", streaming=False)
    train_loader = DataLoader(rows, batch_size=8, collate_fn=collate)  # expect
    fit(model, optimizer, train_loader, 3)


def of_parts(model, optimizer, train, test, collate):
    rows = DatasetDict({"train": train, "test": test}).rename_column("label", "labels")
    train_loader = DataLoader(rows["train"], batch_size=8, collate_fn=collate)  # expect
    fit(model, optimizer, train_loader, 3)


def saved(model, optimizer, folder, collate):
    rows = load_from_disk(folder).with_format("torch").select(range(1000))
    train_loader = DataLoader(rows, batch_size=8, collate_fn=collate)  # expect
    fit(model, optimizer, train_loader, 3)


# --- traps ---------------------------------------------------------------------------------


def learn(model, optimizer, loader, epochs):
    for epoch in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            model(**batch).loss.backward()
            optimizer.step()


def in_order_or_not(model, optimizer, collate, streams, pack):
    raw = load_dataset("imdb")
    train_loader = DataLoader(raw["train"], batch_size=8, shuffle=True, collate_fn=collate)
    learn(model, optimizer, train_loader, 3)
    streamed = load_dataset("imdb", split="train", streaming=True)
    train_loader = DataLoader(streamed, batch_size=8, collate_fn=collate)
    learn(model, optimizer, train_loader, 3)
    perhaps = load_dataset("imdb", split="train", streaming=streams)
    train_loader = DataLoader(perhaps, batch_size=8, collate_fn=collate)
    learn(model, optimizer, train_loader, 3)
    iterated = load_dataset("imdb", split="train").to_iterable_dataset()
    train_loader = DataLoader(iterated, batch_size=8, collate_fn=collate)
    learn(model, optimizer, train_loader, 3)
    packed = pack(load_dataset("imdb", split="train"))
    train_loader = DataLoader(packed, batch_size=8, collate_fn=collate)
    learn(model, optimizer, train_loader, 3)
    lm_rows = load_dataset("wikitext", split="train")
    train_loader = DataLoader(lm_rows, batch_size=8, collate_fn=collate)
    learn(model, optimizer, train_loader, 3)


def evaluated(model, collate):
    raw = load_dataset("imdb")
    for epoch in range(3):
        for batch in DataLoader(raw["test"], batch_size=8, collate_fn=collate):
            model(**batch)
