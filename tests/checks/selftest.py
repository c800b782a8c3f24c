#!/usr/bin/env python3
"""Proves that each check fails when its rule is broken, and passes when it is kept: every rule is broken once, alone, in
a temporary folder."""

import contextlib
import json
import tempfile
import unittest
from pathlib import Path

import beast
import cases
import docs
import format as house_format
import layers
import mutants
import notices
import style

HEADER = "// What this file is for.\n#pragma once\n\n"
GOOD = {
    ".clang-format": (Path(__file__).parents[2] / ".clang-format").read_text(encoding="utf-8"),
    "src/base/text.hpp": HEADER + "namespace seckill::base {}\n",
    "src/base/text.cpp": '#include "base/text.hpp"\nnamespace seckill::base {}\n',
    "src/model/sale.hpp": HEADER + '#include "base/text.hpp"\nnamespace seckill::model {}\n',
    "src/main.cpp": "// The program.\n#include \"model/sale.hpp\"\nint main() {}\n",
    "README.md": "# Title\n\n## A part: one\n[here](#a-part-one) [code](src/main.cpp) [web](https://example.org/x)\n"
                 "```\n[not a link](nowhere.md)\n```\n",
    "cmake/SeckillDependencies.cmake": "find_package(Threads REQUIRED)\nfind_package(OpenSSL 3 REQUIRED)\n"
                                       "pkg_check_modules(SQLITE3 REQUIRED IMPORTED_TARGET sqlite3>=3.40)\n",
    "tools/packages/build": "# a comment\nlibssl-dev\n",
    "docs/dependencies.md": "| name | why |\n|---|---|\n| OpenSSL | TLS (`libssl-dev`) |\n| sqlite3 | store |\n",
    "tests/cases.txt": "# id | words\nFS-01 + | two buyers\nFS-02 - | twice\n",
    "tests/unit/a_test.cpp": "// What is tested.\nTEST(Stock, FS_01_the_last_unit) {}\n",
    "THIRD_PARTY_NOTICES.md": "| name | licence |\n|---|---|\n| OpenSSL | Apache-2.0 |\n| sqlite3 | public domain |\n",
}


@contextlib.contextmanager
def tree(**changes: str):
    """A folder with the good files and these in addition or instead; a name is written with __ for / and _dot_ for dots."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        content = GOOD | {name.replace("__", "/").replace("_dot_", "."): text for name, text in changes.items()}
        for name, text in content.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        yield root


class Checks(unittest.TestCase):
    def broken(self, check, words: str, **changes: str) -> None:
        with tree(**changes) as root:
            found = check(root)
            self.assertTrue(found, "the broken rule was not found")
            self.assertTrue(any(words in finding.why for finding in found), f"{words!r} not in {found}")

    def test_a_clean_tree_passes_every_check(self):
        with tree() as root:
            for check in (layers, beast, style, docs, notices, cases, house_format):
                self.assertEqual(check.check(root), [], check.__name__)

    def test_layers_finds_an_include_that_points_right(self):
        self.broken(layers.check, "stands to the right", src__base__up_dot_hpp=HEADER +
                    '#include "model/sale.hpp"\nnamespace seckill::base {}\n')

    def test_layers_finds_it_in_a_deep_folder_and_with_odd_spaces(self):
        self.broken(layers.check, "stands to the right", src__store__sqlite__deep__up_dot_cpp=
                    '// x\n  #  include "model/../queue/q.hpp"\n#include "queue/q.hpp"\nnamespace seckill::store {}\n')

    def test_layers_finds_an_include_without_its_folder(self):
        self.broken(layers.check, "by its folder", src__base__up_dot_hpp=HEADER +
                    '#include "text.hpp"\nnamespace seckill::base {}\n')

    def test_layers_finds_an_include_of_nothing(self):
        self.broken(layers.check, "does not exist", src__model__a_dot_hpp=HEADER +
                    '#include "base/nothing.hpp"\nnamespace seckill::model {}\n')

    def test_layers_finds_a_folder_without_a_place(self):
        self.broken(layers.check, "no place", src__stuff__a_dot_hpp=HEADER + "namespace seckill::stuff {}\n")

    def test_layers_finds_a_foreign_namespace(self):
        self.broken(layers.check, "it is seckill::base", src__base__a_dot_hpp=HEADER + "namespace seckill::model {}\n")
        self.broken(layers.check, "it is seckill::base", src__base__a_dot_hpp=HEADER + "namespace seckill {}\n")
        self.broken(layers.check, "it is seckill::model", src__model__a_dot_hpp=HEADER +
                    "namespace seckill::base { int defined(); }\nnamespace seckill::model {}\n")
        self.broken(layers.check, "nothing stands", src__base__a_dot_hpp=HEADER + "int x;\n")

    def test_layers_allows_naming_a_lower_thing_ahead(self):
        with tree(src__model__a_dot_hpp=HEADER +
                  "namespace seckill::base { class Text; struct Part; }\nnamespace seckill::model {}\n") as root:
            self.assertEqual(layers.check(root), [])

    def test_layers_finds_using_namespace_in_a_header(self):
        self.broken(layers.check, "using namespace", src__base__a_dot_hpp=HEADER +
                    "namespace seckill::base { }\nusing namespace std;\n")

    def test_beast_finds_the_seventh_file(self):
        user = "// x\n#include <boost/beast/http.hpp>\nnamespace seckill::gateway {}\n"
        six = {f"src__gateway__f{i}_dot_cpp": user for i in range(5)} | {"tests__unit__gateway__f_dot_cpp": user}
        with tree(**six) as root:
            self.assertEqual(beast.check(root), [])
        self.broken(beast.check, "at most 6", bench__more_dot_cpp=user, **six)

    def test_beast_finds_a_header(self):
        self.broken(beast.check, "a header includes Beast", src__gateway__a_dot_hpp=HEADER +
                    "#include <boost/beast/core.hpp>\n")

    def test_style_finds_a_long_file(self):
        self.broken(style.check, "401 lines", src__base__a_dot_cpp="// x\n" * 401)
        with tree(src__base__a_dot_cpp="// x\n" * 400) as root:
            self.assertEqual(style.check(root), [])

    def test_style_finds_a_file_without_its_header_comment(self):
        self.broken(style.check, "begins without a comment", src__base__a_dot_hpp="#pragma once\n")
        self.broken(style.check, "begins without a comment", tests__unit__base__a_dot_cpp="int x;\n")

    def test_style_finds_a_header_without_pragma_once(self):
        self.broken(style.check, "#pragma once", src__base__a_dot_hpp="// x\n")

    def test_style_finds_empty_names(self):
        for name in ("class OrderManager {", "struct SaleHelper;", "enum class TextUtils {", "namespace string_util {"):
            self.broken(style.check, "never Manager", src__base__a_dot_hpp=HEADER + name + "\n")
        self.broken(style.check, "name says nothing", src__base__string_utils_dot_hpp=HEADER)

    def test_style_finds_leftovers(self):
        for line in ("// TODO: later", "// FIXME", "# if 0", "int x;  // XXX"):
            self.broken(style.check, "leftover", src__base__a_dot_hpp=HEADER + line + "\n")
        self.broken(style.check, "leftover", web__shop__a_dot_js="// TODO\n")

    def test_style_finds_paths_of_one_machine(self):
        for line in ("/home/joe/x", "open('/Users/x')", "see `/mnt/x`"):
            self.broken(style.check, "path of one machine", docs__a_dot_md=line + "\n")

    def test_style_finds_a_default_in_a_switch_over_an_enum_of_ours(self):
        for case in ("Errc::limit", "base::Errc::limit", "PurchaseAnswer::sold_out"):
            self.broken(style.check, "no default", src__base__a_dot_cpp=
                        f"// x\nswitch (a) {{\n  case {case}: return;\n  default: return;\n}}\n")
        for case in ("'a'", "7", "EAGAIN", "verb::get", "boost::beast::http::field::host", "SQLITE_BUSY"):
            with tree(src__base__a_dot_cpp=f"// x\nswitch (c) {{\n  case {case}:\n  default:\n    return;\n}}\n") as root:
                self.assertEqual(style.check(root), [], case)

    def test_docs_finds_dead_links(self):
        self.broken(docs.check, "no such file", docs__a_dot_md="[x](b.md)\n")
        self.broken(docs.check, "no such file", docs__a_dot_md="![picture](../img/x.png)\n")
        self.broken(docs.check, "no such file", docs__a_dot_md="[x]: ../nowhere/\n")
        self.broken(docs.check, "no heading", docs__a_dot_md="[x](../README.md#a-part-two)\n")
        self.broken(docs.check, "no heading", docs__a_dot_md="[x](#nothing)\n")
        self.broken(docs.check, "leaves the repository", docs__a_dot_md="[x](../../../../../../../../etc/)\n")

    def test_format_finds_what_the_formatter_would_change(self):
        self.broken(house_format.check, "house format", src__base__a_dot_cpp="// x\nint  x ;\n")

    def test_mutants_finds_a_list_that_no_longer_fits_the_code(self):
        sound = {"name": "a_check_dropped", "file": "src/base/text.cpp", "find": "  if (x) return;", "replace": "",
                 "keeps": ["P1"], "why": "it oversells", "killed_by": "unit_base Text.reads"}
        code = {"src__base__text_dot_cpp": "// x\nvoid f() {\n  if (x) return;\n}\n",
                "tests__unit__base__text_test_dot_cpp": "// x\nTEST(Text, reads) {}\n"}

        def listed(**changes: object) -> dict[str, str]:
            return code | {"tests__mutants__mutants_dot_yaml": json.dumps([sound | changes])}
        with tree(**listed()) as root:
            self.assertEqual(mutants.check(root), [])
        self.broken(mutants.check, "stands 0 times", **listed(find="if (y)"))
        self.broken(mutants.check, "stands 2 times", **(listed() | {
            "src__base__text_dot_cpp": "// x\n  if (x) return;\n  if (x) return;\n"}))
        self.broken(mutants.check, "no test unit_base Text.writes", **listed(killed_by="unit_base Text.writes"))
        self.broken(mutants.check, "no test unit_model", **listed(killed_by="unit_model Text.reads"))
        self.broken(mutants.check, "does not exist", **listed(file="src/base/gone.cpp"))
        self.broken(mutants.check, "must differ", **listed(replace="  if (x) return;"))
        self.broken(mutants.check, "keeps names", **listed(keeps=["a promise"]))
        self.broken(mutants.check, "killed_by is", **listed(killed_by="unit_base"))
        self.broken(mutants.check, "exactly the keys", **listed(because="no such key"))
        self.broken(mutants.check, "appears twice", **(listed() | {
            "tests__mutants__mutants_dot_yaml": json.dumps([sound, sound])}))

    def test_notices_finds_a_dependency_that_is_not_listed(self):
        more = GOOD["cmake/SeckillDependencies.cmake"] + "find_package(fmt REQUIRED)\n"
        self.broken(notices.check, "fmt has no row in docs", cmake__SeckillDependencies_dot_cmake=more)
        self.broken(notices.check, "sqlite3 has no row in THIRD", THIRD_PARTY_NOTICES_dot_md="| OpenSSL | x |\n")
        self.broken(notices.check, "`new-dev` is not named", tools__packages__build="libssl-dev\nnew-dev\n")

    def test_cases_finds_a_claim_without_a_test_and_a_test_without_a_claim(self):
        self.broken(cases.check, "no test is named", tests__unit__a_test_dot_cpp="// What is tested.\nTEST(A, b) {}\n")
        self.broken(cases.check, "is not claimed", tests__unit__b_test_dot_cpp="// x\nTEST_P(A, FS_02_b) {}\n")
        self.broken(cases.check, "is not listed", tests__system__test_a_dot_py="class A:\n    def test_FS_09_b(self):\n")


if __name__ == "__main__":
    unittest.main()
