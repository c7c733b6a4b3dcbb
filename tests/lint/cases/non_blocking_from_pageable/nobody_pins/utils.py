import torch


