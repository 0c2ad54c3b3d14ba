// Questions asked again and again: an answer that comes late does not take the place of a newer one.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sources } from "./harness/source.mjs";

const modules = sources("/src/parts/newest.ts");
const newest = () => new modules["/src/parts/newest.ts"].Newest();

test("an answer that a newer one has overtaken does not count", () => {
  const questions = newest();
  const [first, second, third] = [questions.ask(), questions.ask(), questions.ask()];
  assert.equal(second(), true);
  assert.equal(first(), false, "it was asked before what is shown");
  assert.equal(third(), true);
});

test("answers slower than the questions are shown all the same, as long as they come in order", () => {
  const questions = newest();
  const asked = Array.from({ length: 4 }, () => questions.ask());
  assert.deepEqual(asked.map((counts) => counts()), [true, true, true, true]);
});

test("what was asked of another organization does not count", () => {
  const questions = newest();
  const before = questions.ask();
  questions.forget();
  assert.equal(before(), false);
  assert.equal(questions.ask()(), true);
});
