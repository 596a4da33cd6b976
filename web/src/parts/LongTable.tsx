import { defaultRangeExtractor, useWindowVirtualizer } from "@tanstack/react-virtual";
import { Fragment, useCallback, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { rowHeight } from "./density.ts";
import { keep, readKept, usePlace } from "./kept.ts";
import { useFocusAgain } from "./rows.ts";

/** Up to so many rows are all in the page: searching in it works as everywhere. */
const few = 40;

export interface Column {
  title: string;
  className?: string;
  /** Its share of the table, in which no cell is wider then. All columns have one, or none. */
  width?: string | undefined;
  /** Its title is for screen readers alone. */
  unseen?: boolean;
}

/** A column that has its title alone. */
export const titled = (title: string): Column => ({ title });

/**
 * The table of a list. When it is long, only the rows in sight are in the page, however many there are, and the one that
 * has the focus. Rows may be of different heights, and an item may have several. The window scrolls, not the table: what
 * is not in the page is an empty row of the same height.
 */
export function LongTable<T extends { id: string }>({
  name,
  className = "",
  columns,
  rows,
  renderRow,
  atEnd,
}: {
  name: string;
  className?: string;
  columns: readonly Column[];
  rows: readonly T[];
  /** The rows of an item, of which the first has this index in the table (aria-rowindex). */
  renderRow: (item: T, index: number) => ReactNode;
  /** Called when the last row comes into sight, for each length once. */
  atEnd?: () => void;
}) {
  useFocusAgain();
  const table = useRef<HTMLTableElement>(null);
  const top = useTop(table);
  const height = useHeight(name, table);
  const long = rows.length > few;
  // Nothing that it returns is kept.
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => height,
    // Another one has all places computed again, which it must not be at each rendering.
    // oxlint-disable-next-line react/exhaustive-deps
    getItemKey: useCallback((index: number) => rows[index]?.id ?? index, [rows, height]),
    overscan: 8,
    scrollMargin: top,
    enabled: long,
    rangeExtractor(range) {
      const seen = defaultRangeExtractor(range);
      const held = Number(table.current?.querySelector<HTMLElement>("[data-index]:focus-within")?.dataset["index"]);
      return held < rows.length && !seen.includes(held) ? [...seen, held].toSorted((a, b) => a - b) : seen;
    },
  });
  const seen = virtual.getVirtualItems();
  const last = !long || seen.some(({ index }) => index === rows.length - 1);
  useEffect(() => {
    if (last) {
      atEnd?.();
    }
    // Once for each time that it comes into sight, and for each length.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [last, rows.length]);
  const shown = long
    ? seen.map(({ index, start }, at) => ({ index, space: start - (seen[at - 1]?.end ?? top) }))
    : rows.map((_, index) => ({ index, space: 0 }));
  const rest = long ? top + virtual.getTotalSize() - (seen.at(-1)?.end ?? top) : 0;
  const wide = columns.some((column) => column.width !== undefined);
  return (
    <table
      ref={table}
      className={["list", wide ? "fixed" : "", className].filter(Boolean).join(" ")}
      aria-label={name}
      aria-rowcount={rows.length + 1}
    >
      <thead>
        <tr aria-rowindex={1}>
          {columns.map((column) => (
            <Title key={column.title} column={column} />
          ))}
        </tr>
      </thead>
      {shown.map(({ index, space }) => {
        const item = rows[index];
        return (
          item !== undefined && (
            <Fragment key={item.id}>
              {space > 0 && <Space height={space} columns={columns.length} />}
              <tbody ref={long ? virtual.measureElement : null} data-index={index}>
                {renderRow(item, index + 2)}
              </tbody>
            </Fragment>
          )
        );
      })}
      {rest > 0 && <Space height={rest} columns={columns.length} />}
    </table>
  );
}

/** Where the rows begin in the page. It may be moved by anything above them, with a rendering of the table or without. */
function useTop(table: { current: HTMLTableElement | null }): number {
  const [top, setTop] = useState(0);
  const look = useRef(() => {
    const now = Math.round((table.current?.tHead?.getBoundingClientRect().bottom ?? 0) + scrollY);
    setTop((old) => (Math.abs(old - now) > 1 ? now : old));
  });
  // oxlint-disable-next-line react/exhaustive-deps
  useLayoutEffect(() => look.current());
  useEffect(() => {
    const watcher = new ResizeObserver(() => look.current());
    watcher.observe(document.body);
    return () => watcher.disconnect();
  }, []);
  return top;
}

/**
 * How high rows are that have not been in the page: as those that were there first. It is kept with the entry of the
 * history, so that a list that is shown again is as long as it was, and can be scrolled to its place.
 */
function useHeight(name: string, table: { current: HTMLTableElement | null }): number {
  const place = usePlace(`height-${name}`);
  const [height, setHeight] = useState(() => readKept(place) as number | undefined);
  const look = useRef(() => setHeight((old) => old ?? meanHeight(table.current)));
  // oxlint-disable-next-line react/exhaustive-deps
  useLayoutEffect(() => look.current());
  useEffect(() => {
    if (height !== undefined) {
      keep(place, height);
    }
  }, [place, height]);
  return height ?? rowHeight() + 1; // with the line below it
}

/** The mean of the rows in the page, if there are some. */
function meanHeight(table: HTMLTableElement | null): number | undefined {
  const rows = [...(table?.querySelectorAll("[data-index]") ?? [])];
  const sum = rows.reduce((height, row) => height + row.getBoundingClientRect().height, 0);
  return rows.length === 0 ? undefined : sum / rows.length;
}

function Title({ column: { title, className, width, unseen = false } }: { column: Column }) {
  const style = width === undefined ? undefined : { width };
  return unseen ? (
    <td className={className} style={style}>
      <span className="unseen">{title}</span>
    </td>
  ) : (
    <th scope="col" className={className} style={style}>
      {title}
    </th>
  );
}

/** A row as high as those that are not in the page. */
function Space({ height, columns }: { height: number; columns: number }) {
  return (
    <tbody aria-hidden>
      <tr className="space" style={{ height }}>
        {/* oxlint-disable-next-line jsx-a11y/control-has-associated-label */}
        <td colSpan={columns} />
      </tr>
    </tbody>
  );
}
