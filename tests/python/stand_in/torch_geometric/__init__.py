"""A stand-in for the parts of PyTorch Geometric that the package uses, after PyG 2.8's documentation. It shows that our code
runs; it does not show that it works with PyG itself."""
__version__ = "stand-in"
