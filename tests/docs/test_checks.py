#!/usr/bin/env python3
"""test_checks.py PLIMSOLL: the checks of README and docs find what they are for."""
import pathlib
import sys
import tempfile
import unittest

here = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(here), str(here.parent.parent / "scripts")]
import check_docs  # noqa: E402
import commands  # noqa: E402

PROGRAM = sys.argv.pop(1)


def problems_of(text):
    """What check_docs finds on a page of this text."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "page.md"
        path.write_text(text)
        page = check_docs.Page(path)
        return [problem for _, problem in [*check_docs.check_width(page), *check_docs.check_tables(page), *check_docs.check_links(page, {})]]


class Prose(unittest.TestCase):
    def test_accepts_a_good_page(self):
        self.assertEqual(problems_of("# A\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[up](#a)\n"), [])

    def test_finds_a_long_line_of_prose(self):
        self.assertIn("111 characters", problems_of("x" * 111)[0])

    def test_leaves_code_and_tables_as_wide_as_they_are(self):
        self.assertEqual(problems_of("```text\n" + "x" * 200 + "\n```\n\n| " + "a" * 200 + " |\n|---|\n"), [])

    def test_finds_a_blank_line_in_a_table(self):
        self.assertEqual(len(problems_of("| a | b |\n|---|---|\n\n| 1 | 2 |\n")), 1)

    def test_finds_a_row_with_another_number_of_cells(self):
        self.assertIn("3 cells", problems_of("| a | b |\n|---|---|\n| 1 | 2 | 3 |\n")[0])

    def test_finds_links_to_missing_files_and_headings(self):
        self.assertEqual(len(problems_of("# A\n\n[b](b.md), [c](#c)\n")), 2)


class Commands(unittest.TestCase):
    def block(self, info, text="true\n"):
        return commands.blocks_of("page.md", f"```{info}\n{text}```\n")[0]

    def test_a_block_without_a_language_must_have_no_commands(self):
        self.assertIsNotNone(self.block("", "plimsoll doctor\n").problem)
        self.assertIsNone(self.block("", "a picture of boxes\n").problem)

    def test_a_block_that_is_not_run_needs_a_reason(self):
        self.assertIsNotNone(self.block("sh no-test").problem)
        self.assertEqual(self.block("sh no-test: needs a GPU").reason, "needs a GPU")

    def test_a_console_has_commands_and_output(self):
        block = self.block("console", "$ one\nfirst line\n$ two\n...\nfirst 2\nsecond 3\n")
        self.assertEqual(block.commands(), "one\ntwo")
        self.assertEqual(block.expected(), ["first", "second"])

    def test_finds_output_that_is_not_printed_in_this_order(self):
        self.assertIsNone(commands.missing(["peak", "epoch"], "limit 1\n  peak 2\n  epoch 3\n"))
        self.assertEqual(commands.missing(["epoch", "peak"], "limit 1\n  peak 2\n  epoch 3\n"), "peak")

    def test_finds_options_that_help_does_not_have(self):
        help_of = commands.Help(PROGRAM)
        self.assertEqual(list(help_of.unknown_options("plimsoll train a.plim --model sage --num_neighbors 15 10")), [])
        self.assertEqual(len(list(help_of.unknown_options("plimsoll train a.plim --modle sage"))), 1)
        self.assertEqual(len(list(help_of.unknown_options("plimsoll import ogb a --scale 2"))), 1)
        self.assertEqual(list(help_of.unknown_options("plimsoll exec --memory 1G -- python3 train.py --lr 1")), [])


unittest.main()
