"""Data sets: digits, CIFAR, Fed-ISIC2019 and a drawn stand-in for it."""
