import { ActionIcon, Button, TextInput } from "@mantine/core";
import { IconChevronLeft, IconChevronRight } from "@tabler/icons-react";
import { createContext, use, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { executionTexts } from "../messages/execution.ts";
import { Copy } from "./Copy.tsx";
import { isLong } from "./form/value.ts";
import { fieldsOf, find, has, jqOf, type Path, pointerOf, textOf } from "./jsonpath.ts";

const step = 100;
const longText = 2000;
/** How many hits of a search are counted. */
const mostHits = 1000;
/** How many lines a value has at least that is searched: less is seen at once. */
const searchedFrom = 6;

interface Tree {
  /** What is searched for, and the hit that is shown. */
  wanted: string;
  hit: Path | undefined;
  /** The place whose paths are shown, as a pointer. */
  picked: string | undefined;
  pick: (pointer: string | undefined) => void;
}

const TreeContext = createContext<Tree>({ wanted: "", hit: undefined, picked: undefined, pick: () => undefined });

/**
 * A value as a tree that opens level by level. What is closed is not in the page. It is searched as a whole, and each
 * place says how expressions and pointers name it.
 */
export function JsonTree({ value, name }: { value: unknown; name: string }) {
  const texts = executionTexts().json;
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [picked, pick] = useState<string>();
  const wanted = useDeferredValue(text);
  const hits = useMemo(() => (wanted === "" ? [] : find(value, wanted, mostHits)), [value, wanted]);
  const place = Math.min(at, Math.max(0, hits.length - 1));
  const hit = hits[place];
  const tree = useMemo(() => ({ wanted, hit, picked, pick }), [wanted, hit, picked]);
  const searched = useMemo(() => typeof value === "object" && value !== null && lines(value) >= searchedFrom, [value]);
  const go = (by: number) => setAt((place + by + hits.length) % Math.max(1, hits.length));
  return (
    <div className="json-tree">
      <div className="json-head">
        {searched && (
          <search className="json-search">
            <TextInput
              size="xs"
              type="search"
              aria-label={texts.searchIn(name)}
              placeholder={texts.search}
              value={text}
              onChange={(event) => {
                setText(event.currentTarget.value);
                setAt(0);
              }}
              onKeyDown={(event) => {
                if (event.key === "Enter") {
                  event.preventDefault();
                  go(event.shiftKey ? -1 : 1);
                }
              }}
            />
            <span role="status" className="meta">
              {wanted !== "" && texts.hits(hits.length === 0 ? 0 : place + 1, hits.length, hits.length === mostHits)}
            </span>
            {hits.length > 1 && (
              <>
                <ActionIcon variant="subtle" size={24} aria-label={texts.previous} onClick={() => go(-1)}>
                  <IconChevronLeft aria-hidden size={14} />
                </ActionIcon>
                <ActionIcon variant="subtle" size={24} aria-label={texts.next} onClick={() => go(1)}>
                  <IconChevronRight aria-hidden size={14} />
                </ActionIcon>
              </>
            )}
          </search>
        )}
        <Copy text={JSON.stringify(value, null, 2)} what={name} />
      </div>
      <TreeContext value={tree}>
        <Node value={value} path={[]} open />
      </TreeContext>
    </div>
  );
}

/** How many lines a value has when all is open, so far as it matters here. */
function lines(value: unknown): number {
  if (typeof value !== "object" || value === null) {
    return 1;
  }
  let sum = 1;
  for (const [, field] of fieldsOf(value)) {
    sum += lines(field);
    if (sum >= searchedFrom) {
      break;
    }
  }
  return sum;
}

/** Whether a place is within another one, or the same. */
const within = (path: Path, inner: Path | undefined): boolean =>
  inner !== undefined && path.every((key, index) => inner[index] === key);

function Node({ path, value, open = false }: { path: Path; value: unknown; open?: boolean }) {
  const { hit, wanted } = use(TreeContext);
  const [opened, setOpened] = useState(open);
  // A hit opens what is around it, once: it may be closed again.
  const [led, setLed] = useState<Path>();
  if (hit !== led) {
    setLed(hit);
    if (hit && hit.length > path.length && within(path, hit)) {
      setOpened(true);
    }
  }
  const line = useRef<HTMLDivElement>(null);
  const here = hit !== undefined && hit.length === path.length && within(path, hit);
  useEffect(() => {
    if (here) {
      line.current?.scrollIntoView({ block: "nearest" });
    }
  }, [here]);
  const key = path.at(-1);
  const label = key !== undefined && (
    <span className="json-key">{typeof key === "string" ? <Marked text={key} wanted={wanted} /> : key}: </span>
  );
  const fields = typeof value === "object" && value !== null ? fieldsOf(value) : [];
  if (fields.length === 0) {
    return (
      <div className="json-line" ref={line} data-hit={here || undefined}>
        {label}
        <Leaf value={value} whole={here} />
        <Place path={path} value={value} />
      </div>
    );
  }
  const many = Array.isArray(value) ? executionTexts().json.items : executionTexts().json.keys;
  return (
    <div className="json-line" ref={line} data-hit={here || undefined}>
      <details open={opened} onToggle={(event) => setOpened(event.currentTarget.open)}>
        <summary>
          {label}
          <span className="meta">{many(fields.length)}</span>
        </summary>
        {opened && <Fields fields={fields} path={path} />}
      </details>
      {path.length > 0 && <Place path={path} value={value} />}
    </div>
  );
}

function Fields({ fields, path }: { fields: readonly [string | number, unknown][]; path: Path }) {
  const { hit } = use(TreeContext);
  const [length, setLength] = useState(step);
  // The hit is shown wherever it is, and what is between not: a list may have 100,000 items.
  const next = hit && within(path, hit) ? hit[path.length] : undefined;
  const far = next === undefined ? undefined : fields.slice(length).find(([key]) => key === next);
  return (
    <div className="json-fields">
      {fields.slice(0, length).map(([key, field]) => (
        <Node key={key} path={[...path, key]} value={field} />
      ))}
      {fields.length > length && (
        <Button size="compact-xs" variant="subtle" onClick={() => setLength(length + step * 10)}>
          {executionTexts().json.more(Math.min(step * 10, fields.length - length))}
        </Button>
      )}
      {far && <Node key={far[0]} path={[...path, far[0]]} value={far[1]} />}
    </div>
  );
}

/** A button for the names of a place, and the names while they are asked for. */
function Place({ path, value }: { path: Path; value: unknown }) {
  const { picked, pick } = use(TreeContext);
  const texts = executionTexts().json;
  const pointer = pointerOf(path);
  const shown = picked === pointer;
  const names: [what: string, text: string][] = [
    [texts.jq, jqOf(path)],
    [texts.pointer, pointer],
  ];
  return (
    <>
      <button
        type="button"
        className="json-pick"
        aria-expanded={shown}
        aria-label={texts.pathOf(String(path.at(-1) ?? "."))}
        title={texts.path}
        onClick={() => pick(shown ? undefined : pointer)}
      >
        <span aria-hidden>{"{ }"}</span>
      </button>
      {shown && (
        <dl className="json-place">
          {names.map(([what, text]) => (
            <div key={what}>
              <dt>{what}</dt>
              <dd>
                <code>{text === "" ? '""' : text}</code> <Copy text={text} what={what} />
              </dd>
            </div>
          ))}
          <div>
            <dt>{texts.value}</dt>
            <dd>
              <Copy text={typeof value === "string" ? value : JSON.stringify(value, null, 2)} what={texts.value} />
            </dd>
          </div>
        </dl>
      )}
    </>
  );
}

function Leaf({ value, whole: found }: { value: unknown; whole: boolean }) {
  const { wanted } = use(TreeContext);
  const [whole, setWhole] = useState(false);
  const text = textOf(value);
  if (whole || found || text.length <= longText) {
    return (
      <>
        <code>
          <Marked text={text} wanted={wanted} />
        </code>
        {typeof value === "number" && isLong(text) && <span className="meta"> {executionTexts().json.rounded}</span>}
      </>
    );
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

/** A text with what is searched for marked, where it is first. */
function Marked({ text, wanted }: { text: string; wanted: string }) {
  if (wanted === "" || !has(text, wanted)) {
    return text;
  }
  const at = text.toLowerCase().indexOf(wanted.toLowerCase());
  return (
    <>
      {text.slice(0, at)}
      <mark>{text.slice(at, at + wanted.length)}</mark>
      {text.slice(at + wanted.length)}
    </>
  );
}
