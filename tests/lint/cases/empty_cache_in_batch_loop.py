import gc

import torch
from lightning.pytorch import LightningModule
from accelerate import Accelerator
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

from shapes import Engine, load, make_pipeline, parameters, read_wave, test, validate


# --- once a batch ---------------------------------------------------------------------------


def every_step(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(10):
        for step, batch in enumerate(loader):
            model(batch, step, epoch)
            torch.cuda.empty_cache()  # expect


def where_there_is_a_gpu(model, dataset):
    for batch in tqdm(DataLoader(dataset, num_workers=4)):
        loss = model(batch)
        del loss, batch
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()  # expect


def inside_with(model, dataset):
    accelerator = Accelerator()
    loader = accelerator.prepare(DataLoader(dataset, num_workers=4))
    for batch in loader:
        with accelerator.accumulate(model):
            latents = model.encode(batch["video"].to(dtype=torch.float16))
            torch.cuda.empty_cache()  # expect
            model(latents)


def other_accelerators(model, dataset):
    for batch in DataLoader(dataset, num_workers=4):
        model(batch)
        torch.accelerator.empty_cache()  # expect
        torch.xpu.empty_cache()  # expect


def drawn_by_hand(model, dataset, steps):
    batches = iter(DataLoader(dataset, num_workers=4))
    for step in range(steps):
        model(next(batches), step)
        torch.cuda.empty_cache()  # expect


def unknown_but_called_a_loader(model, val_loader):
    for images, _ in val_loader:
        model(images)
        torch.cuda.empty_cache()  # expect


def per_image(model, image_paths):
    for path in image_paths:
        model(load(path))
        torch.cuda.empty_cache()  # expect


def per_sample_of_a_batch(model, outputs, labels):
    counts = (labels.sum(2) > 0).sum(1)
    for sample in range(outputs.shape[0]):
        count = int(counts[sample])
        if count == 0:
            target = outputs.new_zeros(0)
        else:
            try:
                target = model.assign(outputs[sample], count)
            except RuntimeError:
                torch.cuda.empty_cache()
                target = model.assign(outputs[sample].cpu(), count)
            torch.cuda.empty_cache()  # expect
        model.add(target)


def per_chunk_of_every_sample(model, dataset, limit):
    for waves, labels in DataLoader(dataset, num_workers=4):
        for wave in waves:
            pieces = wave.cuda().chunk(wave.numel() // limit + 1)
            for piece in pieces:
                torch.cuda.empty_cache()  # expect
                model(piece, labels)


def per_decoding_step(model, tokens, max_length):
    for _ in range(max_length):
        tokens = torch.cat([tokens, model(tokens)], dim=1)
        torch.cuda.empty_cache()  # expect
    return tokens


def train_step(model, batch):
    loss = model(batch).sum()
    loss.backward()
    torch.cuda.empty_cache()  # expect


def calls_a_step(model, dataset):
    for batch in DataLoader(dataset, num_workers=4):
        train_step(model, batch)


class Module(LightningModule):
    def training_step(self, batch, batch_idx):
        loss = self.model(batch)
        torch.cuda.empty_cache()  # expect
        return loss

    def validation_step(self, batch, batch_idx):
        if batch_idx % 50 == 0:
            torch.cuda.empty_cache()

    def on_train_epoch_end(self):
        torch.cuda.empty_cache()


class Numbers(Dataset):
    def __getitem__(self, index):
        return index

    def __len__(self):
        return 10


def over_the_dataset(model):
    numbers = Numbers()
    for number in numbers:
        model(number)
        torch.cuda.empty_cache()  # expect


def from_a_queue(model, queue, optimizer):
    while True:
        inputs, targets = queue.get()
        if inputs.shape[0] == 0:
            break
        model(inputs, targets).backward()
        optimizer.step()
        torch.cuda.empty_cache()  # expect


# --- traps: now and then --------------------------------------------------------------------


def between_rounds(model, rounds, queue, optimizer):
    for number in rounds:
        while not queue.empty():
            model(queue.get()).backward()
            optimizer.step()
        torch.cuda.empty_cache()


def attempts(model, batch, sizes):
    for attempt in range(3):
        try:
            model(batch).backward()
            break
        except RuntimeError:
            torch.cuda.empty_cache()


def every_so_often(model, dataset, args):
    for step, batch in enumerate(DataLoader(dataset, num_workers=4)):
        model(batch)
        if step % 100 == 0:
            torch.cuda.empty_cache()
        if args.empty_cache_freq > 0 and (step + args.empty_cache_freq - 1) % args.empty_cache_freq == 0:
            torch.cuda.empty_cache()
        if step == 0:
            torch.cuda.empty_cache()
        if not step:
            torch.cuda.empty_cache()
        if (step + 1) == args.total_steps:
            torch.cuda.empty_cache()
        if args.clear_cache:
            torch.cuda.empty_cache()
        if not (step + 1) % args.every:
            torch.cuda.empty_cache()
        if torch.cuda.memory_reserved() > args.most:
            torch.cuda.empty_cache()
        if args.every and step > 0 and step % args.every == 0:
            validate(model)
            torch.cuda.empty_cache()
        if step % args.every:
            continue
        torch.cuda.empty_cache()


def out_of_memory(model, dataset):
    for batch in DataLoader(dataset, num_workers=4):
        failed = False
        try:
            model(batch)
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            failed = True
        except RuntimeError as error:
            if "out of memory" not in str(error):
                raise
            torch.cuda.empty_cache()
            continue
        if failed:
            torch.cuda.empty_cache()


def after_a_model_is_gone(model, dataset, args):
    for step, batch in enumerate(DataLoader(dataset, num_workers=4)):
        model(batch)
        if args.validation_prompt is not None and step in args.validation_steps:
            pipeline = make_pipeline(model)
            pipeline(args.validation_prompt)
            del pipeline
            torch.cuda.empty_cache()


def a_model_for_each(dataset, names):
    for batch in DataLoader(dataset, num_workers=4):
        for name in names:
            model = load(name)
            model(batch)
            del model
            torch.cuda.empty_cache()


# --- traps: other loops ---------------------------------------------------------------------


def epochs(model, dataset, epochs):
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(epochs):
        for batch in loader:
            model(batch, epoch)
        torch.cuda.empty_cache()


def retried(args):
    batch_size = args.batch_size
    while batch_size >= 1:
        args.batch_size = batch_size
        torch.cuda.empty_cache()
        try:
            return validate(args)
        except RuntimeError:
            batch_size //= 2
    return None


def retried_a_few_times(model, batch):
    for attempt in range(3):
        try:
            return model(batch)
        except RuntimeError:
            print(attempt)
        torch.cuda.empty_cache()
    return None


def profiled(ops, inputs):
    for op in ops:
        for _ in range(10):
            op(inputs)
        torch.cuda.empty_cache()


def trackers(accelerator, pipeline):
    for tracker in accelerator.trackers:
        tracker.log(pipeline)
        del pipeline
        torch.cuda.empty_cache()


def in_chunks(model, waves, size):
    for start in range(0, len(waves), size):
        model(waves[start : start + size])
        torch.cuda.empty_cache()


def engines(models):
    for name, model in models.items():
        Engine(name).build(model)
        torch.cuda.empty_cache()


def folds(model, dataset, folds):
    for fold in range(folds):
        loader = DataLoader(dataset, num_workers=4)
        for batch in loader:
            model(batch, fold)
        torch.cuda.empty_cache()
        test(model)


def asked_for(reader):
    count = 0
    while True:
        wave = read_wave(input("file: "))
        count += 1
        reader(wave)
        if count == 1000:
            torch.cuda.empty_cache()


def language_models(decoder, lm, emissions):
    for emission in emissions:
        decoder.decode(emission)
        lm.empty_cache()


def once(model, dataset):
    torch.cuda.empty_cache()
    for batch in DataLoader(dataset, num_workers=4):
        model(batch)
        if model.done:
            torch.cuda.empty_cache()
            break
    torch.cuda.empty_cache()


def layers(model):
    for parameter in parameters(model):
        parameter.data = parameter.data.to("cpu")
        torch.cuda.empty_cache()


def release():
    gc.collect()
    torch.cuda.empty_cache()


def releases_after_each_epoch(model, dataset):
    loader = DataLoader(dataset, num_workers=4)
    for epoch in range(3):
        for batch in loader:
            model(batch, epoch)
            if epoch % 2 and batch.sum() > 0:
                release()
        release()


def rounds_of_training(model, dataset, num_iters):
    loader = DataLoader(dataset, num_workers=4)
    for _ in range(num_iters):
        train_once(model, loader)
        torch.cuda.empty_cache()


def train_once(model, loader):
    for batch in loader:
        model(batch)


def makes_room_between_validations(model, val_set):
    val_loader = DataLoader(val_set, num_workers=4)
    for images, labels in val_loader:
        outputs = model(images)
        del images
        labels = labels.cpu()
        outputs = outputs.cpu()
        torch.cuda.empty_cache()  # expect
        model.score(outputs, labels)


def goes_on_between_validations(model, val_set):
    val_loader = DataLoader(val_set, num_workers=4)
    for images, labels in val_loader:
        outputs = model(images)
        del images
        outputs = model.smooth(outputs)
        torch.cuda.empty_cache()  # expect
        model.score(outputs, labels)


def each_data_set(models, dataloader_iter):
    for count, dataloaders in enumerate(dataloader_iter):
        torch.cuda.empty_cache()
        for model in models:
            torch.cuda.empty_cache()
            model.predict(dataloaders["testing"], count)


def writes_texts(model, dataset, loader_of):
    for images, questions in DataLoader(dataset, num_workers=4):
        answers = model.generate(images, questions, max_new_tokens=100)
        torch.cuda.empty_cache()  # expect
        model.score(answers)
    model.generate(dataset)
    for images, questions in DataLoader(dataset, num_workers=4):
        model(images, questions)
        torch.cuda.empty_cache()  # expect


def where_memory_is_short(model, dataset, cfg):
    for images in DataLoader(dataset, num_workers=4):
        model(images)
        if cfg.REDUCE_GPU_MEM:
            torch.cuda.empty_cache()
        if cfg.GPU:
            torch.cuda.empty_cache()  # expect


def searches(problem, model, n_iterations, max_steps):
    for _ in range(n_iterations):
        torch.cuda.empty_cache()  # expect
        candidate = problem.propose(model)
        model.add(candidate, problem.evaluate(candidate))
    step = 0
    while step < max_steps:
        torch.cuda.empty_cache()  # expect
        step = problem.advance(model, step)


def learns(model, batches, n_iterations):
    for _ in range(n_iterations):
        torch.cuda.empty_cache()  # expect
        model(next(batches)).backward()


def watches_memory(model, dataset):
    peaks = []
    for images in DataLoader(dataset, num_workers=4):
        torch.cuda.empty_cache()  # expect
        torch.cuda.reset_peak_memory_stats()
        model(images)
        peaks.append(torch.cuda.max_memory_allocated())
    return peaks


def answers(model, loader):
    for step, batch in enumerate(loader):
        score(model, batch, step).backward()


def score(model, batch, step):
    with torch.no_grad():
        texts = model.generate(batch["input_ids"])
        torch.cuda.empty_cache()  # expect
    return model(texts, step)


def answer_all(model, dataset):
    answers(model, DataLoader(dataset, num_workers=4))


def sends_weights(weight_iterator, server):
    for batches in weight_iterator.groups():
        server.send(batches)
        torch.cuda.empty_cache()


def makes_room_for_others(model, dataset):
    for images in DataLoader(dataset, num_workers=4):
        loss = model(images)
        # The buffers of reduce_scatter are allocated past the caching allocator.
        torch.cuda.empty_cache()  # expect
        loss.backward()


def makes_room(model, dataset):
    for images in DataLoader(dataset, num_workers=4):
        loss = model(images)
        # free memory
        torch.cuda.empty_cache()  # expect
        loss.backward()


# --- advice: each pass takes long anyway ----------------------------------------------------


def docks(model, dataset, steps):
    for graph in DataLoader(dataset, num_workers=4):
        torch.cuda.empty_cache()  # expect
        model.sample(graph, inference_steps=steps)


def slides_twice(model, dataset):
    for volume in DataLoader(dataset, num_workers=4):
        torch.cuda.empty_cache()  # expect
        double_sliding_window_inference(volume, (96, 96, 96), model)


def writes_masks(model, dataset):
    for image, path in DataLoader(dataset, num_workers=4):
        cv2.imwrite(path, model(image).cpu().numpy())
        torch.cuda.empty_cache()  # expect


def learns_and_writes(model, dataset, optimizer):
    for image, path in DataLoader(dataset, num_workers=4):
        model(image).sum().backward()
        optimizer.step()
        cv2.imwrite(path, image.numpy())
        torch.cuda.empty_cache()  # expect


def every_rank_its_own(model, dataset, rank, world_size):
    for index in range(rank, len(dataset), world_size):
        model(dataset[index])
        torch.cuda.empty_cache()  # expect


def piece_by_piece(model, frames, chunk_size):
    for start in range(0, len(frames), chunk_size):
        model(frames[start : start + chunk_size])
        torch.cuda.empty_cache()
