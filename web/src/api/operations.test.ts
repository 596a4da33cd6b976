import { expect, test } from "vitest";
import { underWayOf, type Operation } from "./operations.ts";

const ada = "019c13f1-0c00-7f3b-a2d4-9e8b7c6f5a43";
const alan = "019c13f1-0c00-7f3b-a2d4-9e8b7c6f5a44";

const operation = (id: string, status: Operation["status"], by: Operation["started_by"]): Operation => ({
  id,
  action: "cancel",
  status,
  environment: "live",
  ...(by && { started_by: by }),
  total: 3,
  pending: 2,
  succeeded: 1,
  skipped: 0,
  failed: 0,
  created_at: "2026-01-31T10:00:02.000Z",
});

test("under way are those that the person has started and that have not ended", () => {
  const own = { kind: "user" as const, id: ada, name: "Ada Lovelace" };
  const operations = [
    operation("selecting", "selecting", own),
    operation("running", "running", own),
    operation("completed", "completed", own),
    operation("cancelled", "cancelled", own),
    operation("stopped", "stopped", own),
    operation("of another person", "running", { kind: "user", id: alan }),
    operation("of a key", "running", { kind: "key", id: ada }),
    operation("of one who is gone", "running", undefined),
  ];
  expect(underWayOf(operations, ada).map(({ id }) => id)).toEqual(["selecting", "running"]);
});
