import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useRef, useState, type ReactNode } from "react";

/** Up to so many rows are all in the page: searching in the page and moving among them work as everywhere. */
const few = 100;

/**
 * A table of which, when it is long, only the rows that are seen are in the page. Rows may be of different heights, and
 * an item may have several. The page scrolls, not the table.
 */
export function LongTable<T extends { id: string }>({
  name,
  className = "",
  columns,
  rows,
  renderRow,
}: {
  name: string;
  className?: string;
  columns: readonly string[];
  rows: readonly T[];
  /** The rows of an item, of which the first has this index in the table. */
  renderRow: (item: T, index: number) => ReactNode;
}) {
  const table = useRef<HTMLTableElement>(null);
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const place = () => setTop((table.current?.tHead?.getBoundingClientRect().bottom ?? 0) + scrollY);
    place();
    const watcher = new ResizeObserver(place);
    watcher.observe(document.body);
    return () => watcher.disconnect();
  }, []);
  const long = rows.length > few;
  // Nothing that it returns is kept.
  // oxlint-disable-next-line react/incompatible-library
  const virtual = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => 40,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 10,
    scrollMargin: top,
    enabled: long,
  });
  const seen = virtual.getVirtualItems();
  const shown = long ? seen.map((each) => each.index) : rows.map((_, index) => index);
  return (
    <table ref={table} className={`list ${className}`} aria-label={name} aria-rowcount={rows.length + 1}>
      <thead>
        <tr aria-rowindex={1}>
          {columns.map((column) => (
            <th key={column} scope="col">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      {long && <Gap height={(seen[0]?.start ?? top) - top} columns={columns.length} />}
      {shown.map((index) => {
        const item = rows[index];
        return (
          item !== undefined && (
            <tbody key={item.id} ref={long ? virtual.measureElement : null} data-index={index}>
              {renderRow(item, index + 2)}
            </tbody>
          )
        );
      })}
      {long && <Gap height={virtual.getTotalSize() - ((seen.at(-1)?.end ?? top) - top)} columns={columns.length} />}
    </table>
  );
}

/** A row as high as those that are not seen. */
function Gap({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) {
    return null;
  }
  return (
    <tbody className="gap" aria-hidden>
      <tr>
        <td colSpan={columns} style={{ height }}>
          {""}
        </td>
      </tr>
    </tbody>
  );
}
