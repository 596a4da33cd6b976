import { expect, test } from "vitest";
import { readPages, type Pages } from "./exported.ts";

/** Pages of so many rows, which are numbers, up to the total. */
const counted =
  (total: number, length: number): Pages<number> =>
  (cursor) => {
    const from = Number(cursor ?? 0);
    const data = Array.from({ length: Math.min(length, total - from) }, (_, i) => from + i);
    return Promise.resolve({ data, cursor: from + length < total ? String(from + length) : null });
  };

const write = (rows: readonly number[]) => rows.map((row) => `${row}\n`).join("");

async function exported(pages: Pages<number>, most?: { rows: number; bytes: number }) {
  const told: number[] = [];
  const { rows, more, file } = await readPages(pages, write, new AbortController().signal, (n) => told.push(n), most);
  return { rows, more, text: await file.text(), told };
}

test("all pages of a list are written into a file, in their order", async () => {
  expect(await exported(counted(5, 2))).toEqual({ rows: 5, more: false, text: "0\n1\n2\n3\n4\n", told: [2, 4, 5] });
  expect(await exported(counted(0, 2))).toEqual({ rows: 0, more: false, text: "", told: [0] });
});

const emptyFirst: Pages<number> = (cursor) =>
  Promise.resolve(cursor === undefined ? { data: [], cursor: "next" } : { data: [7], cursor: null });

test("a page may be empty and have others after it", async () => {
  expect(await exported(emptyFirst)).toMatchObject({ rows: 1, more: false, text: "7\n" });
});

test("a file ends at so many rows, and it is known whether there are others", async () => {
  const most = { rows: 4, bytes: 1000 };
  expect(await exported(counted(4, 2), most)).toMatchObject({ rows: 4, more: false });
  expect(await exported(counted(5, 2), most)).toMatchObject({ rows: 4, more: true, told: [2, 4] });
  expect(await exported(counted(6, 6), most)).toMatchObject({ rows: 4, more: true, text: "0\n1\n2\n3\n" });
});

test("a file ends after so many bytes, at the end of a page", async () => {
  const most = { rows: 100, bytes: 5 };
  expect(await exported(counted(9, 2), most)).toMatchObject({ rows: 4, more: true, text: "0\n1\n2\n3\n" });
  expect(await exported(counted(4, 2), most)).toMatchObject({ rows: 4, more: false });
});

test("an export that is cancelled asks for no other page", async () => {
  const controller = new AbortController();
  const pages: Pages<number> = (cursor) => {
    controller.abort();
    return counted(9, 2)(cursor, controller.signal);
  };
  await expect(readPages(pages, write, controller.signal, () => {})).rejects.toThrow();
});
