import { expect, test } from "vitest";
import { formatAmount, formatBytes } from "./amount.ts";

test.each([
  [0, "0 B"],
  [1023, "1,023 B"],
  [1 << 20, "1 MiB"],
  [1.5 * 2 ** 30, "1.5 GiB"],
  [5 * 2 ** 50, "5,120 TiB"],
])("%d bytes are %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

test.each([
  ["body_bytes", 1 << 20, "1 MiB"],
  ["live_retention_seconds", 2_592_000, "30 d 00 h"],
  ["requests_per_second", 1000, "1,000"],
  ["running_executions_of_test", 500, "500"],
  ["events_bytes", 8 << 20, "8 MiB"],
])("%s of %d is %s", (name, value, text) => expect(formatAmount(name, value)).toBe(text));
