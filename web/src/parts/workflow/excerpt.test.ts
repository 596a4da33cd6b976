import { expect, test } from "vitest";
import { excerpt, valueAt } from "./excerpt.ts";

const text = `do:
  - first:
      set: { a: 1 }

      # about nothing
  - second:
      wait:
        seconds: 1
`;

test("an excerpt is what a task has in the definition", () => {
  expect(excerpt(text, 2)).toBe("- first:\n    set: { a: 1 }\n\n    # about nothing");
  expect(excerpt(text, 6)).toBe("- second:\n    wait:\n      seconds: 1");
});

test("a definition in one line and a line that is not there have none", () => {
  expect(excerpt('{"do":[{"a":{"set":{}}}]}', 1)).toBeUndefined();
  expect(excerpt(text, 99)).toBeUndefined();
});

test("a pointer names a value, or none", () => {
  const definition = { do: [{ "a/b~c": { set: { n: 1 } } }] };
  expect(valueAt(definition, "/do/0/a~1b~0c")).toEqual({ set: { n: 1 } });
  expect(valueAt(definition, "/do/1/a")).toBeUndefined();
  expect(valueAt(definition, "/do/0/a~1b~0c/set/n/toFixed")).toBeUndefined();
  expect(valueAt(definition, "/do/length/x")).toBeUndefined();
});
