import { expect, test } from "vitest";
import type { Execution } from "../../api/executions.ts";
import { executionLines, executionNames } from "./table.ts";

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
  expect(executionNames.startsWith("id,workflow,workflow_version,status,")).toBe(true);
  const line = executionLines([one]);
  expect(line).toContain("019c13f4,shop/order,1.0.0,error,faulted,2026-01-31T10:00:00Z,,,api,");
  expect(line).toContain(String.raw`"{""customer"":""say \""yes\"", now""}"`);
  expect(line).toContain(`"'=HYPERLINK(""http://example.com"")"`);
  expect(line.endsWith('late,,"a\nb"\r\n')).toBe(true);
  expect(line.replaceAll(/"(?:[^"]|"")*"/gu, "").split(",")).toHaveLength(executionNames.split(",").length);
});
