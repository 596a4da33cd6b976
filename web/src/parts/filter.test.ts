import { describe, expect, test } from "vitest";
import { parse, parseTime, print, toQuery, withOnly } from "./filter.ts";

const now = new Date("2026-03-01T12:00:00Z");

describe("filters as text", () => {
  test.each([
    ["state:error workflow:shop/order label:customer=42 from:-24h"],
    ['label:"name=Ada Lovelace" 0197a5c4'],
    ['"two words"'],
    ['"state:error"'],
    [""],
  ])("%s is read and written the same", (text) => {
    expect(print(parse(text))).toBe(text);
  });

  test("asks the API", () => {
    const { query, complaints } = toQuery(
      parse(
        "state:error state:cancelled workflow:a/b label:customer=42 label:x:y from:-24h longer:5s error:communication 0197a5c4",
      ),
      now,
    );
    expect(complaints).toEqual([]);
    expect(query).toEqual({
      phase: ["faulted", "cancelled"],
      workflow: ["a/b"],
      label: ["customer:42", "x:y"],
      created_after: ["2026-02-28T12:00:00.000Z"],
      min_duration_ms: ["5000"],
      error_code: ["communication"],
      q: ["0197a5c4"],
    });
  });

  test("asks for a workflow by its name, or by its id", () => {
    const id = "0197a5c4-1111-7000-8000-000000000001";
    expect(toQuery(parse(`workflow:a/b workflow:${id}`), now)).toEqual({
      query: { workflow: ["a/b"], workflow_id: [id] },
      complaints: [],
    });
    expect(toQuery(parse(`workflow:${id.slice(1)}`), now).complaints).toHaveLength(1);
  });

  test("names what is wrong, and asks for the rest", () => {
    const { query, complaints } = toQuery(
      parse("colour:red state:broken workflow:nothing from:soon state:running"),
      now,
    );
    expect(query).toEqual({ phase: ["running"] });
    expect(complaints.map((c) => (c.kind === "person" ? c.kind : `${c.kind} ${c.term.key}`))).toEqual([
      "key colour",
      "value state",
      "value workflow",
      "value from",
    ]);
  });

  test("a person is a status of its own", () => {
    expect(toQuery(parse("state:person"), now)).toEqual({ query: { status: ["human_in_the_loop"] }, complaints: [] });
    expect(toQuery(parse("state:person state:error"), now).complaints).toEqual([{ kind: "person" }]);
  });

  test("of what can be asked once, the last counts", () => {
    expect(toQuery(parse("from:-1h from:-1d"), now).query).toEqual({ created_after: ["2026-02-28T12:00:00.000Z"] });
  });

  test("a choice takes the place of its kind", () => {
    expect(print(withOnly(parse("state:error from:-1h x"), "from", "-7d"))).toBe("state:error x from:-7d");
    expect(print(withOnly(parse("state:error from:-1h x"), "state", undefined))).toBe("from:-1h x");
  });
});

test("times", () => {
  expect(parseTime("-90m", now)?.toISOString()).toBe("2026-03-01T10:30:00.000Z");
  expect(parseTime("2026-02-01T10:00:00Z", now)?.toISOString()).toBe("2026-02-01T10:00:00.000Z");
  expect(parseTime("yesterday", now)).toBeUndefined();
  expect(parseTime("2026-99-01", now)).toBeUndefined();
});
