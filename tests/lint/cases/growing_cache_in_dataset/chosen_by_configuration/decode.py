def decode(clip, meta, backend):
    if backend == "plain":
        return clip.frames
    elif backend == "seeking":
        return decode_by_seeking(clip, meta)


def decode_by_seeking(clip, meta):
    meta["index"] = clip.read_index()
    return clip.read(meta["index"])


def read(clip, meta, reader):
    if reader == "fast":
        meta["index"] = clip.read_index()
    return clip.read(meta["index"])
