import { expect, test } from "vitest";
import type { Item } from "../../api/batches.ts";
import { mostFields, offeredFields, readFields, writeFields } from "./fields.ts";

test("names of fields survive the address", () => {
  for (const names of [["a"], ["a", "b c"], ["a,b", "50%", "%2C", "ä"], []]) {
    expect(readFields(writeFields(names))).toEqual(names);
  }
  expect(writeFields(["customer", "total"])).toBe("customer,total");
  expect(readFields("a,a,,b")).toEqual(["a", "b"]);
  expect(readFields("%,%zz")).toEqual(["%", "%zz"]);
  expect(readFields("a,b,c,d,e,f,g,h")).toHaveLength(mostFields);
});

test("the fields of all items that are seen are offered, and those that are shown", () => {
  const items = [{ inputs: { b: 1 } }, undefined, { inputs: { a: 2, b: 3 } }, {}] as unknown as Item[];
  expect(offeredFields(["z"], items)).toEqual(["a", "b", "z"]);
  const wide = { inputs: Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`n${i}`, i])) } as unknown as Item;
  expect(offeredFields(["z"], [wide])).toHaveLength(50);
});
