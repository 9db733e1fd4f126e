"""same_tensors.py ONE.pth OTHER.pth: fails unless two checkpoints hold the same tensors, bit for bit. Tensors
are members of their own in the archive, apart from the pickled figures, among them times."""
import sys
import zipfile


def tensors(path):
    with zipfile.ZipFile(path) as archive:
        return {name.split("/", 1)[1]: archive.read(name) for name in archive.namelist() if "/data/" in name}


one, other = map(tensors, sys.argv[1:])
if not one or one != other:
    sys.exit("tensors differ: %s" % [name for name in one if one[name] != other.get(name)])
