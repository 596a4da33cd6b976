import { expect, test } from "vitest";
import type { FormField } from "../../api/workflows.ts";
import { read } from "../form/read.ts";
import { inTurn, newer, type Kept, type Remote } from "./draft.ts";

const form: FormField = {
  kind: "object",
  pointer: "",
  title: "",
  required: true,
  fields: [{ kind: "text", pointer: "/note", title: "Note", required: false }],
};
const time = (second: number) => new Date(second * 1000).toISOString();
const there = (second: number): Remote => ({ data: { note: "there" }, updated_at: time(second), references: [] });
const here = (second: number, saved?: number): Kept => ({
  draft: undefined,
  comment: "here",
  files: [],
  form: "mark",
  at: second * 1000,
  changed: true,
  ...(saved !== undefined && { saved: time(saved) }),
});
const from = (kept: Kept | undefined, remote: Remote | undefined) => newer(kept, remote, form, "mark");

test("a task opens with what was entered last, here or elsewhere", () => {
  expect(from(undefined, undefined)).toBeUndefined();
  expect(from(undefined, { references: [] })).toBeUndefined();
  expect(from(here(5), undefined)?.comment).toBe("here");
  expect(from(here(5), there(3))?.comment).toBe("here");
  expect(from(here(5), there(7))).toMatchObject({ comment: "", saved: time(7), changed: false });
  // The clock of the server may be ahead: what was saved from here is not newer than what is here.
  expect(from(here(5, 9), there(9))?.comment).toBe("here");
});

test("what comes from the server is in the form", () => {
  const kept = from(undefined, there(3));
  expect(kept?.draft && read(form, kept.draft).value).toEqual({ note: "there" });
});

test("what is sent for a task goes in turn, and a failure holds up nothing", async () => {
  const begun: string[] = [];
  const fail: ((problem: Error) => void)[] = [];
  const saved = inTurn("a", () => {
    begun.push("save");
    return new Promise<void>((_, reject) => {
      fail.push(reject);
    });
  });
  const discarded = inTurn("a", () => Promise.resolve(begun.push("discard")));
  await inTurn("b", () => Promise.resolve(begun.push("other task")));
  await Promise.resolve();
  expect(begun).toEqual(["save", "other task"]);
  fail[0]?.(new Error("away"));
  await expect(saved).rejects.toThrow("away");
  await discarded;
  expect(begun).toEqual(["save", "other task", "discard"]);
});
