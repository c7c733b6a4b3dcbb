from utils import to_gpu


class Model:
    def parse_batch(self, batch):
        text, mel = batch
        return to_gpu(text).long(), to_gpu(mel).float()
