import { describe, expect, test } from "vitest";
import { complete, suggest, termAt } from "./suggest.ts";

const terms = (typed: string, known = {}) => suggest(typed, known).map(({ term }) => term);

describe("suggestions", () => {
  test("the term at the caret is what is completed", () => {
    expect(termAt("state:error wor", 15)).toEqual({ from: 12, to: 15, typed: "wor" });
    expect(termAt("state:err label:a=b", 9)).toEqual({ from: 0, to: 9, typed: "state:err" });
    expect(termAt('label:"a=b c', 12)).toEqual({ from: 0, to: 12, typed: 'label:"a=b c' });
    expect(termAt("", 0)).toEqual({ from: 0, to: 0, typed: "" });
  });

  test("keys, then their values", () => {
    expect(terms("st")).toEqual(["state:"]);
    expect(terms("state:s")[0]).toBe("state:suspended");
    expect(terms("state:error")).toEqual([]);
    expect(terms("colour:")).toEqual([]);
    expect(terms("workflow:ord", { workflow: ["shop/order", "shop/pay", "orders/import"] })).toEqual([
      "workflow:orders/import",
      "workflow:shop/order",
    ]);
    expect(terms("label:", { label: ["name=Ada Lovelace"] })).toEqual(['label:"name=Ada Lovelace"']);
  });

  test("a suggestion takes the place of the term", () => {
    expect(complete("sta from:-1h", 3, { term: "state:", open: true })).toEqual({ text: "state: from:-1h", caret: 6 });
    expect(complete("from:-1h state:er", 17, { term: "state:error", open: false })).toEqual({
      text: "from:-1h state:error ",
      caret: 21,
    });
  });
});
