import { expect, test } from "vitest";
import { contentAddress, type Entry } from "../../api/detail.ts";
import { setEnvironment } from "../../api/environment.ts";
import { filesOf, maker, makers } from "./made.ts";

const file = (id: string, signature: string) => ({
  filename: `${id}.txt`,
  url: `http://localhost/api/v1/files/${id}/content?expires=1&signature=${signature}`,
  size: 1,
  content_type: "text/plain",
  expires_at: "2026-01-02T03:04:05Z",
});

test("tasks that cannot make files are not asked for", () => {
  const tasks = [
    { kind: "set" as const, reference: "/do/0/a" },
    { kind: "run" as const, reference: "/do/1/b" },
    { kind: "call" as const, reference: "/do/2/c" },
  ];
  expect(makers(tasks)).toEqual(["/do/1/b", "/do/2/c"]);
});

test("a file is the same under another signature, and is listed once", () => {
  const runs: Pick<Entry, "files">[] = [{ files: [file("a", "x"), file("b", "x")] }, {}, { files: [file("c", "x")] }];
  const results = [file("b", "y")];
  expect(maker(runs, file("b", "y"))).toBe(runs[0]);
  expect(maker(runs, file("d", "y"))).toBeUndefined();
  expect(filesOf(runs, results).map((row) => row.file.filename)).toEqual(["a.txt", "c.txt"]);
});

test("the content of a file is asked for at this server with the session, not by a signed link", () => {
  expect(contentAddress(file("a", "x").url)).toBe("/api/v1/files/a/content?environment=live");
  setEnvironment("test");
  expect(contentAddress("https://example.com/base/api/v1/files/a/content?expires=1&signature=x")).toBe(
    "/base/api/v1/files/a/content?environment=test",
  );
  setEnvironment("live");
});
