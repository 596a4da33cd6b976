import { expect, test } from "vitest";
import { hasPreview } from "./media.ts";

test("a preview is offered of what can be shown, and of nothing else", () => {
  const shown = [
    "image/png",
    "IMAGE/SVG+XML",
    "text/csv; charset=utf-8",
    "application/json ; charset=utf-8",
    "application/problem+json",
    "application/jsonl",
    "application/atom+xml",
  ];
  expect(shown.filter((type) => !hasPreview(type))).toEqual([]);
  const others = [
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "image/tiff",
    "application/pdf",
    "application/jsonx",
    "",
  ];
  expect(others.filter(hasPreview)).toEqual([]);
});
