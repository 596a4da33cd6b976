import { expect, test } from "vitest";
import { shownFile } from "./reference.ts";

const uri = "/api/v1/files/018f2f9e-4c2d-7b1a-9d53-2f6f0a4b8c11";
const file = { uri, name: "a.pdf", mediaType: "application/pdf", size: 5 };

test("references of the server are shown as they are", () => {
  expect(shownFile({ ...file, digest: "sha256:0" })).toEqual(file);
  expect(shownFile({ ...file, uri: `https://wf.example.org/base${uri}` })?.uri).toBe(
    `https://wf.example.org/base${uri}`,
  );
});

test("no value of a workflow keeps a task from being shown", () => {
  for (const value of [
    null,
    1,
    "x",
    [],
    {},
    { uri: 1 },
    { uri: "http://[/files/x" },
    { uri: "http://[/api/v1/files/x" },
  ]) {
    expect(shownFile(value)).toBeUndefined();
  }
  for (const bad of [
    `http://[${uri}`,
    `http://a b${uri}`,
    `javascript:alert(1)//${uri}`,
    `${uri}/../../keys`,
    `${uri}?x`,
    "/files/x",
  ]) {
    expect(shownFile({ ...file, uri: bad })).toBeUndefined();
  }
  expect(shownFile({ uri, name: {}, mediaType: ["text/html"], size: "many" })).toEqual({
    uri,
    name: "018f2f9e-4c2d-7b1a-9d53-2f6f0a4b8c11",
    mediaType: "application/octet-stream",
    size: 0,
  });
  expect(shownFile({ uri, name: "", size: -1 })?.size).toBe(0);
});
