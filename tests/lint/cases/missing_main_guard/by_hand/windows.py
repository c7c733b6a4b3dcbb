import cv2
from torch.utils.data import DataLoader

for image in DataLoader([], num_workers=2):  # expect advice
    if image is not None:
        cv2.imshow("image", image.numpy())
    cv2.waitKey(0)
