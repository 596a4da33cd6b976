import { expect, test } from "vitest";
import type { Item } from "../../api/batches.ts";
import { itemTable } from "./table.ts";

const item = {
  execution_id: "019c13f4",
  index: 8,
  item_id: "INV-0009",
  status: "error",
  phase: "faulted",
  duration_ms: 2100,
  inputs: { customer: "ACME, Inc.", total: -1204.5, paid: false, lines: [{ n: 1 }], note: "=1+1", none: null },
  error: { code: "late", title: "Too late", detail: "It is late." },
} as unknown as Item;

test("the inputs of items are a column as JSON", () => {
  const { names, lines } = itemTable([]);
  expect(names).toBe(
    "index,item_id,execution_id,status,phase,duration_ms,inputs,error_code,error_title,error_detail\r\n",
  );
  expect(lines([{ ...item, inputs: { n: 1 } }])).toBe(
    '8,INV-0009,019c13f4,error,faulted,2100,"{""n"":1}",late,Too late,It is late.\r\n',
  );
});

test("fields that are chosen are columns, in their order", () => {
  const { names, lines } = itemTable(["total", "customer", "paid", "lines", "note", "none", "toString"]);
  expect(names).toContain(
    "inputs.total,inputs.customer,inputs.paid,inputs.lines,inputs.note,inputs.none,inputs.toString,error_code",
  );
  expect(lines([item])).toContain(`,2100,-1204.5,"ACME, Inc.",false,"[{""n"":1}]",'=1+1,,,late,`);
});

test("an item that has not begun has empty cells", () => {
  const waits = { execution_id: "x", index: 0, status: "initial", phase: "pending" } as Item;
  expect(itemTable(["a"]).lines([waits])).toBe("0,,x,initial,pending,,,,,\r\n");
});
