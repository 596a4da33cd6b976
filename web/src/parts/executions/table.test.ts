import { expect, test } from "vitest";
import type { Execution } from "../../api/executions.ts";
import { asCSV, asLines } from "./table.ts";

const one = {
  id: "019c13f4",
  workflow: "shop/order",
  workflow_version: "1.0.0",
  status: "error",
  phase: "faulted",
  created_at: "2026-01-31T10:00:00Z",
  cause: { kind: "api" },
  labels: { customer: 'say "yes", now' },
  item_id: '=HYPERLINK("http://example.com")',
  error: { type: "about:blank", status: 500, code: "late", origin: "workflow", retryable: false, detail: "a\nb" },
} as unknown as Execution;

test("a table has a line of names, and each cell is text", () => {
  const csv = asCSV([one]);
  expect(csv.startsWith("id,workflow,workflow_version,status,")).toBe(true);
  expect(csv).toContain("019c13f4,shop/order,1.0.0,error,faulted,2026-01-31T10:00:00Z,,,api,");
  expect(csv).toContain(String.raw`"{""customer"":""say \""yes\"", now""}"`);
  expect(csv).toContain(`"'=HYPERLINK(""http://example.com"")"`);
  expect(csv.endsWith('late,,"a\nb"\r\n')).toBe(true);
});

test("what begins like a formula is text in a spreadsheet", () => {
  for (const item of ["=1", "+1", "-1", "@a", "\ta"]) {
    expect(asCSV([{ ...one, item_id: item }])).toContain(`'${item},`);
  }
});

test("lines have executions as the API answers them", () => {
  const lines = asLines([one, one]).trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([one, one]);
});
