import { Button } from "@mantine/core";
import { useState } from "react";
import { executionTexts } from "../messages/execution.ts";
import { Copy } from "./Copy.tsx";

const step = 100;
const longText = 2000;

/** A value as a tree that opens level by level. What is closed is not in the page. */
export function JsonTree({ value, name }: { value: unknown; name: string }) {
  return (
    <div className="json-tree">
      <span className="json-copy">
        <Copy text={JSON.stringify(value, null, 2)} what={name} />
      </span>
      <Node value={value} open />
    </div>
  );
}

function Node({ label, value, open = false }: { label?: string; value: unknown; open?: boolean }) {
  const [opened, setOpened] = useState(open);
  if (typeof value !== "object" || value === null) {
    return (
      <div className="json-line">
        {label !== undefined && <span className="json-key">{label}: </span>}
        <Leaf value={value} />
      </div>
    );
  }
  const length = Array.isArray(value) ? value.length : Object.keys(value).length;
  if (length === 0) {
    return (
      <div className="json-line">
        {label !== undefined && <span className="json-key">{label}: </span>}
        {Array.isArray(value) ? "[]" : "{}"}
      </div>
    );
  }
  const many = Array.isArray(value) ? executionTexts().json.items : executionTexts().json.keys;
  return (
    <details open={opened} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary>
        {label !== undefined && <span className="json-key">{label}: </span>}
        <span className="meta">{many(length)}</span>
      </summary>
      {opened && <Fields value={value} />}
    </details>
  );
}

function Fields({ value }: { value: object }) {
  const [length, setLength] = useState(step);
  const fields = Object.entries(value);
  return (
    <div className="json-fields">
      {fields.slice(0, length).map(([key, field]) => (
        <Node key={key} label={key} value={field} />
      ))}
      {fields.length > length && (
        <Button size="compact-xs" variant="subtle" onClick={() => setLength(length + step * 10)}>
          {executionTexts().json.more(Math.min(step * 10, fields.length - length))}
        </Button>
      )}
    </div>
  );
}

function Leaf({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  const text = JSON.stringify(value) ?? "";
  if (whole || text.length <= longText) {
    return <code>{text}</code>;
  }
  return (
    <>
      <code>{text.slice(0, longText)}…</code>{" "}
      <Button size="compact-xs" variant="subtle" onClick={() => setWhole(true)}>
        {executionTexts().json.more(text.length - longText)}
      </Button>
    </>
  );
}
