import { expect, test } from "vitest";
import { Problem } from "../../api/problem.ts";
import type { FormField } from "../../api/workflows.ts";
import { faultsOf, nameOf } from "./problems.ts";

const form: FormField = {
  kind: "object",
  pointer: "",
  title: "",
  required: true,
  fields: [
    { kind: "number", pointer: "/total", title: "Total", required: true },
    {
      kind: "object",
      pointer: "/of",
      title: "",
      required: false,
      fields: [{ kind: "text", pointer: "/of/a~1b", title: "", required: false }],
    },
    { kind: "list", pointer: "/rows", title: "Rows", required: false },
  ],
};

test("a field has the name of the innermost title around it", () => {
  expect(nameOf(form, "/total")).toBe("Total");
  expect(nameOf(form, "/of/a~1b")).toBe("a/b");
  expect(nameOf(form, "/rows/1/name")).toBe("Rows");
  expect(nameOf(form, "/unknown")).toBe("unknown");
  expect(nameOf(form, "")).toBeUndefined();
});

test("what the server says of an answer is at its field", () => {
  const errors = [
    { pointer: "/data/total", detail: "Too little." },
    { pointer: "/data", detail: "Not so." },
    { pointer: "/files/0", detail: "No such file." },
    { pointer: "/outcome", detail: "No such outcome." },
  ];
  const problem = new Problem(422, { code: "answer_invalid", title: "No", errors });
  expect(faultsOf(problem, form)).toEqual([
    { pointer: "/total", where: "Total", detail: "Too little." },
    { pointer: "", where: "Answer", detail: "Not so." },
    { pointer: "#/files", where: "Files", detail: "No such file." },
    { pointer: "#/outcome", where: "Outcome", detail: "No such outcome." },
  ]);
  expect(faultsOf(new Problem(409, { code: "answer_conflict", title: "No", errors }), form)).toEqual([]);
});
