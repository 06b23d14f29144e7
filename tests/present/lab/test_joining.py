"""Modules of JavaScript are joined to one script that runs them in their order."""

import pytest

from suffice.present.lab.joining import join_modules

MODULES = {
    "numbers": """// import and export are words of comments, too
export const ONE = 1;

export function twice(value) {
  return 2 * value;
}
const hidden = "export const no = 1";
""",
    "shapes": """import {
  ONE,
  twice as doubled,
} from "./numbers.js";

export class Square {
  constructor() {
    this.side = doubled(ONE);
  }
}
export async function later() {
  return ONE;
}
""",
    "main": """import { twice } from "./numbers.js";
import { Square } from "./shapes.js";
const hidden = new Square();
globalThis.answer = twice(hidden.side);
""",
}


def test_imports_of_one_line_or_several_become_constants():
    script = join_modules(MODULES)
    assert "const { ONE, twice: doubled } = module_numbers;" in script
    assert "const { twice } = module_numbers;" in script
    assert "return { ONE, twice };" in script
    assert "return { Square, later };" in script
    assert script.startswith('"use strict";')


@pytest.mark.browser
def test_the_script_runs_and_modules_share_no_other_names(browser):
    script = f"{join_modules(MODULES)} return [answer, typeof hidden, typeof ONE];"
    found = browser.page().evaluate(f"(() => {{ {script} }})()")
    assert found == [4, "undefined", "undefined"]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('import { a } from "./later.js";', "later.js, which does not come before it"),
        ('import { three } from "./numbers.js";', "three, which numbers.js does not export"),
        ('import * as all from "./numbers.js";', "not a named import or export"),
        ("export default 3;", "not a named import or export"),
        ("export { a };", "not a named import or export"),
    ],
)
def test_what_cannot_be_joined_is_refused(source, message):
    with pytest.raises(ValueError, match=message):
        join_modules({"numbers": MODULES["numbers"], "wrong": source})
