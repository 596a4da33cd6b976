import { defaultRangeExtractor, useWindowVirtualizer } from "@tanstack/react-virtual";
import { Fragment, useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { rowHeight } from "./density.ts";
import { useFocusAgain } from "./rows.ts";

/** What a row of the table must have on its element. */
export interface RowPlace {
  ref: (row: HTMLTableRowElement | null) => void;
  "data-index": number;
  "aria-rowindex": number;
}

/**
 * A table of which only the rows in sight are in the page, however many there are. The row that has the focus stays. The
 * window scrolls it, and what is not in the page is an empty row of the same height.
 */
export function VirtualTable<T extends { id: string }>({
  rows,
  label,
  head,
  columns,
  children,
  atEnd,
}: {
  rows: readonly T[];
  label: string;
  head: ReactNode;
  columns: number;
  children: (row: T, place: RowPlace) => ReactNode;
  /** Called when the last row comes into sight. */
  atEnd: () => void;
}) {
  useFocusAgain();
  const body = useRef<HTMLTableSectionElement>(null);
  const [margin, setMargin] = useState(0);
  // It may be moved by anything above it, and is set when it was.
  // oxlint-disable-next-line react-hooks/exhaustive-deps
  useLayoutEffect(() => {
    const top = body.current ? Math.round(body.current.getBoundingClientRect().top + scrollY) : 0;
    setMargin((old) => (Math.abs(old - top) > 1 ? top : old));
  });
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight() + 1, // with the line below it
    overscan: 8,
    scrollMargin: margin,
    getItemKey: (index) => rows[index]?.id ?? index,
    rangeExtractor(range) {
      const held = body.current?.querySelector<HTMLElement>("tr:focus-within")?.dataset["index"];
      const seen = defaultRangeExtractor(range);
      const index = held === undefined ? -1 : Number(held);
      return index < 0 || index >= rows.length || seen.includes(index)
        ? seen
        : [...seen, index].toSorted((a, b) => a - b);
    },
  });
  const items = virtual.getVirtualItems();
  const last = items.findLast(({ index }) => index === rows.length - 1) !== undefined;
  useEffect(() => {
    if (last) {
      atEnd();
    }
    // Once for each time that it comes into sight, and for each length.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [last, rows.length]);
  const after = margin + virtual.getTotalSize();
  return (
    <table className="list fixed" aria-label={label} aria-rowcount={rows.length + 1}>
      <thead>{head}</thead>
      <tbody ref={body}>
        {items.map((item, place) => {
          const shown = rows[item.index];
          const space = item.start - (items[place - 1]?.end ?? margin);
          return (
            shown && (
              <Fragment key={item.key}>
                {space > 0 && <Space height={space} columns={columns} />}
                {children(shown, {
                  ref: virtual.measureElement,
                  "data-index": item.index,
                  "aria-rowindex": item.index + 2,
                })}
              </Fragment>
            )
          );
        })}
        {after > (items.at(-1)?.end ?? after) && (
          <Space height={after - (items.at(-1)?.end ?? after)} columns={columns} />
        )}
      </tbody>
    </table>
  );
}

function Space({ height, columns }: { height: number; columns: number }) {
  return (
    <tr className="space" aria-hidden style={{ height }}>
      {/* oxlint-disable-next-line jsx-a11y/control-has-associated-label */}
      <td colSpan={columns} />
    </tr>
  );
}
