"""The package runs on Python 3.9 and later: nothing in it is newer."""
import ast
import pathlib
import unittest

import plimsoll

SOURCES = sorted(pathlib.Path(plimsoll.__file__).parent.glob("*.py"))


class Sources(unittest.TestCase):
    def test_have_no_syntax_newer_than_python_3_9(self):
        for path in SOURCES:
            with self.subTest(path.name):
                ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 9))

    def test_do_not_evaluate_their_annotations(self):
        for path in SOURCES:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            if any(isinstance(node, ast.FunctionDef) and node.returns is not None for node in ast.walk(tree)):
                future = [name.name for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"
                          for name in node.names]
                self.assertTrue("annotations" in future or path.name == "__init__.py", path.name)


if __name__ == "__main__":
    unittest.main()
