import { expect, test } from "vitest";
import type { FormField } from "../../api/workflows.ts";
import { draftOf, entry, startOf, type Draft } from "./draft.ts";
import { read } from "./read.ts";
import { hasLong } from "./value.ts";

const field = (kind: FormField["kind"], pointer: string, more: Partial<FormField> = {}): FormField => ({
  kind,
  pointer,
  title: pointer,
  required: false,
  ...more,
});
const form = (...fields: FormField[]): FormField => field("object", "", { required: true, fields });
const typed = (text: string): Draft => ({ ...startOf(field("text", "")), text });

test("what is not filled in is not there, and what must be there is missing", () => {
  const all = form(field("text", "/a"), field("text", "/b", { required: true }), field("boolean", "/c"));
  expect(read(all, startOf(all))).toEqual({ value: {}, wrong: [{ pointer: "/b", what: "missing" }] });
});

test("a value goes into the form and comes out the same, for every kind", () => {
  const all = form(
    field("text", "/name"),
    field("integer", "/count"),
    field("boolean", "/agree"),
    field("choice", "/colour", {
      options: [
        { value: "red", title: "Red" },
        { value: null, title: "None" },
      ],
    }),
    field("choices", "/sizes", { options: [1, 2, 3].map((value) => ({ value, title: `${value}` })) }),
    field("datetime", "/at"),
    field("object", "/order", { fields: [field("text", "/order/a~1b")], items: field("number", "") }),
    field("list", "/rows", { items: field("object", "", { fields: [field("text", "/x")] }) }),
    field("map", "/labels", { items: field("text", "") }),
    field("tuple", "/place", { fields: [field("number", "/place/0"), field("number", "/place/1")] }),
    field("oneof", "/one", { fields: [field("text", "/one"), field("list", "/one", { items: field("text", "") })] }),
    field("json", "/any"),
  );
  const value = {
    name: "Ada",
    count: 3,
    agree: false,
    colour: null,
    sizes: [1, 3],
    at: "2026-01-31T09:30:00.000Z",
    order: { "a/b": "c", more: 1.5 },
    rows: [{ x: "1" }, { x: "2" }],
    labels: { team: "blue" },
    place: [1, 2],
    one: ["a"],
    any: { deep: [true] },
  };
  expect(read(all, draftOf(all, value))).toEqual({ value, wrong: [] });
});

test("what is wrong is at its place, also in an entry of a list", () => {
  const rows = field("list", "/rows", { items: field("object", "", { fields: [field("integer", "/n")] }) });
  const all = form(rows);
  const draft = draftOf(all, { rows: [{}, {}] });
  const inner = draft.inside[0]?.entries[1]?.draft.inside;
  inner?.splice(0, 1, typed("1.5"));
  expect(read(all, draft).wrong).toEqual([{ pointer: "/rows/1/n", what: "integer" }]);
});

test("a field is there, and must be filled in, by what another one has", () => {
  const all = form(
    field("text", "/how"),
    field("text", "/iban", { required: true, when: { pointer: "/how", values: ["bank"] } }),
    field("text", "/why", { required_when: { pointer: "/how", values: ["cash"] } }),
  );
  expect(read(all, draftOf(all, { how: "card" }))).toEqual({ value: { how: "card" }, wrong: [] });
  expect(read(all, draftOf(all, { how: "bank" })).wrong).toEqual([{ pointer: "/iban", what: "missing" }]);
  expect(read(all, draftOf(all, { how: "cash" })).wrong).toEqual([{ pointer: "/why", what: "missing" }]);
});

test("a map has each name once", () => {
  const all = form(field("map", "/labels", { items: field("text", "") }));
  const draft = startOf(all);
  draft.inside[0]?.entries.push(entry(typed("1"), "a"), entry(typed("2"), "a"));
  expect(read(all, draft).wrong).toEqual([{ pointer: "/labels/a", what: "name" }]);
});

test("an object that need not be there lacks nothing until something is in it", () => {
  const fields = [field("text", "/order/id", { required: true }), field("text", "/order/note")];
  const all = form(field("object", "/order", { fields }));
  expect(read(all, startOf(all))).toEqual({ value: {}, wrong: [] });
  expect(read(all, draftOf(all, { order: { note: "soon" } })).wrong).toEqual([
    { pointer: "/order/id", what: "missing" },
  ]);
});

test("a number between whose thousands are commas is not taken for a much smaller one", () => {
  const all = form(field("number", "/total"), field("integer", "/count"));
  const typedIn = (total: string, count: string) => ({ ...startOf(all), inside: [typed(total), typed(count)] });
  expect(read(all, typedIn("1,204", "1,204")).wrong).toEqual([
    { pointer: "/total", what: "thousands" },
    { pointer: "/count", what: "thousands" },
  ]);
  expect(read(all, typedIn("1,204,500.5", "")).wrong).toEqual([{ pointer: "/total", what: "thousands" }]);
  expect(read(all, typedIn("1,5", "1204"))).toEqual({ value: { total: 1.5, count: 1204 }, wrong: [] });
});

test("a whole number that would be rounded is not sent", () => {
  const all = form(field("integer", "/id"), field("json", "/any"));
  const typedIn = (id: string, any: string) => ({ ...startOf(all), inside: [typed(id), typed(any)] });
  expect(read(all, typedIn("9007199254740993", '{ "a": [-12345678901234567890] }')).wrong).toEqual([
    { pointer: "/id", what: "long" },
    { pointer: "/any", what: "long" },
  ]);
  const most = typedIn("9007199254740991", String.raw`["9007199254740993", "\"9007199254740993", 1e300]`);
  expect(read(all, most).wrong).toEqual([]);
  expect(hasLong(`"${"9".repeat(2_000_000)}"`)).toBe(false);
});
