import { Button, NativeSelect, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef, useState, type CSSProperties, type KeyboardEvent } from "react";
import type { Batch, Item } from "../../api/batches.ts";
import { useAllItems, useItemsIn } from "../../api/items.ts";
import { batchesTexts } from "../../messages/batches.ts";
import { formatDuration, formatNumber } from "../../messages/format.ts";
import { t } from "../../messages/index.ts";
import { Empty, Failure } from "../Notice.tsx";
import { countsOf } from "../Progress.tsx";
import { itemStates, phaseOf, stateOf, type ItemState } from "../state.ts";
import { StateMark } from "../StateMark.tsx";
import { Waiting } from "../Waiting.tsx";
import { rowHeight } from "../density.ts";
import { Export } from "./Export.tsx";
import { Fields } from "./Fields.tsx";
import { offeredFields } from "./fields.ts";
import { inputOf, valueCell } from "./table.ts";

interface Props {
  batch: Batch;
  state: ItemState | undefined;
  /** The fields of inputs that have columns of their own; none: the input is one column. */
  fields: readonly string[];
  /** A stream tells of changes. */
  told: boolean;
  choose: (state: ItemState | undefined, fields: readonly string[]) => void;
}

/** The items of a batch. Only the rows that are seen are in the page, and only their pages are asked for. */
export function Grid({ batch, state, fields, told, choose }: Props) {
  const texts = batchesTexts();
  const pane = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ from: 0, to: 0 });
  const all = useAllItems(batch, seen.from, seen.to, state === undefined, told);
  const some = useItemsIn(batch, state && phaseOf[state], seen.to, told);
  const items = state === undefined ? all : some;
  // Nothing that it returns is kept.
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useVirtualizer({
    count: items.count,
    getScrollElement: () => pane.current,
    estimateSize: rowHeight,
    overscan: 8,
  });
  const rows = virtual.getVirtualItems();
  const [from, to] = [rows[0]?.index ?? 0, rows.at(-1)?.index ?? 0];
  useEffect(() => setSeen({ from, to }), [from, to]);
  const offered = offeredFields(
    fields,
    rows.map(({ index }) => items.at(index)),
  );
  return (
    <>
      <div className="filters">
        <NativeSelect
          label={texts.gridColumns.state}
          value={state ?? ""}
          onChange={(event) => {
            virtual.scrollToOffset(0);
            choose(
              itemStates.find((name) => name === event.currentTarget.value),
              fields,
            );
          }}
          data={[
            { value: "", label: texts.any(batch.total) },
            ...itemStates.map((name) => {
              const count = countsOf(batch).find((part) => part.state === name)?.count ?? 0;
              return { value: name, label: texts.state(t().states[name], count) };
            }),
          ]}
        />
        {state === undefined && batch.total > 20 && (
          <Jump total={batch.total} jump={(place) => virtual.scrollToIndex(place, { align: "start" })} />
        )}
        {offered.length > 0 && <Fields offered={offered} shown={fields} choose={(names) => choose(state, names)} />}
        <Export batch={batch} state={state} fields={fields} />
      </div>
      {items.error !== null && items.error !== undefined && <Failure error={items.error} retry={items.retry} />}
      {items.loading && <Waiting />}
      {!items.loading && items.count === 0 && !items.error && <Empty text={texts.noItems} />}
      {items.count > 0 && (
        <div
          className="grid"
          role="table"
          aria-label={texts.grid}
          aria-rowcount={items.count + 1}
          style={{ "--inputs": Math.max(1, fields.length) } as CSSProperties}
        >
          <Head fields={fields} />
          {/* It scrolls, so that keys must reach it. */}
          {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex, jsx-a11y/no-noninteractive-element-interactions */}
          <div ref={pane} className="grid-pane" role="rowgroup" tabIndex={0} aria-label={texts.grid} onKeyDown={step}>
            <div style={{ height: virtual.getTotalSize() }} role="presentation">
              {rows.map(({ index, start }) => (
                <Row key={index} place={index} top={start} item={items.at(index)} fields={fields} />
              ))}
            </div>
          </div>
        </div>
      )}
    </>
  );
}

/** Arrow keys move among the items: with Tab, a person would never come to the end of a long list. */
function step(event: KeyboardEvent<HTMLDivElement>) {
  const pane = event.currentTarget;
  if (event.key === "Escape") {
    pane.focus();
  }
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") {
    return;
  }
  event.preventDefault();
  const links = [...pane.querySelectorAll("a")];
  const at = links.findIndex((link) => link === document.activeElement);
  const top = pane.getBoundingClientRect().top;
  const next =
    at === -1
      ? links.find((link) => link.getBoundingClientRect().top >= top)
      : links[at + (event.key === "ArrowDown" ? 1 : -1)];
  next?.focus();
}

function Head({ fields }: { fields: readonly string[] }) {
  const columns = batchesTexts().gridColumns;
  const column = (name: keyof typeof columns) => (
    <span key={name} role="columnheader" className={`grid-${name}`}>
      {columns[name]}
    </span>
  );
  return (
    <div role="rowgroup">
      <div role="row" className="grid-row grid-head" aria-rowindex={1}>
        {(["index", "item", "state", "took"] as const).map(column)}
        {fields.length === 0
          ? column("input")
          : fields.map((name) => (
              <span key={`input ${name}`} role="columnheader" className="grid-input" title={name}>
                {name}
              </span>
            ))}
        {column("now")}
      </div>
    </div>
  );
}

interface RowProps {
  place: number;
  top: number;
  item: Item | undefined;
  fields: readonly string[];
}

function Row({ place, top, item, fields }: RowProps) {
  const error = item?.error?.detail ?? item?.error?.title;
  const inputs: [string, string][] =
    fields.length === 0
      ? [["", JSON.stringify(item?.inputs) ?? ""]]
      : fields.map((name) => [name, String((item && valueCell(inputOf(item, name))) ?? "")]);
  return (
    <div
      role="row"
      className="grid-row"
      aria-rowindex={place + 2}
      style={{ transform: `translateY(${top}px)` }}
      aria-busy={item === undefined || undefined}
    >
      <span role="cell" className="grid-index number">
        {formatNumber((item?.index ?? place) + 1)}
      </span>
      <span role="cell" className="grid-item">
        {item && (
          <Link to="/executions/$id" params={{ id: item.execution_id }} preload={false} tabIndex={-1}>
            {item.item_id ?? item.execution_id.slice(-8)}
          </Link>
        )}
      </span>
      <span role="cell" className="grid-state">
        {item && <StateMark state={stateOf(item)} />}
      </span>
      <span role="cell" className="grid-took number">
        {item?.duration_ms !== undefined && formatDuration(item.duration_ms)}
      </span>
      {inputs.map(([name, text]) => (
        <span key={`input ${name}`} role="cell" className="grid-input" title={text}>
          {fields.length === 0 ? <code>{text.slice(0, 200)}</code> : text.slice(0, 200)}
        </span>
      ))}
      <span role="cell" className="grid-now" title={error}>
        {error}
      </span>
    </div>
  );
}

function Jump({ total, jump }: { total: number; jump: (place: number) => void }) {
  const texts = batchesTexts();
  const [text, setText] = useState("");
  return (
    <form
      className="filters"
      onSubmit={(event) => {
        event.preventDefault();
        jump(Math.min(total, Number(text)) - 1);
      }}
    >
      <TextInput
        data-search
        type="number"
        required
        withAsterisk={false}
        min={1}
        max={total}
        label={texts.jump}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <Button type="submit" variant="default">
        {texts.jumpTo}
      </Button>
    </form>
  );
}
