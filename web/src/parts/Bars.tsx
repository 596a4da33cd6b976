import { Link } from "@tanstack/react-router";
import type { Bucket } from "../api/overview.ts";
import { formatNumber } from "../messages/format.ts";
import { t } from "../messages/index.ts";
import { overviewTexts } from "../messages/overview.ts";

/** What a bar is made of, from the bottom. Errors stand on the line, where their heights can be compared. */
const parts = ["error", "cancelled", "finished"] as const;
const height = 100;

export interface Bar extends Pick<Bucket, (typeof parts)[number] | "started"> {
  /** When, in words. */
  time: string;
  /** The filter of the executions that it leads to. */
  filter: string;
}

const sum = (bar: Bar) => parts.reduce((all, part) => all + bar[part], 0);

/** Bars of executions by time, each a link to the list, and the same as a table. */
export function Bars({ bars, label }: { bars: readonly Bar[]; label: string }) {
  const texts = overviewTexts();
  const most = Math.max(1, ...bars.map(sum));
  return (
    <figure className="chart" aria-label={label}>
      <div className="bars-window">
        <div>
          <div className="bars">
            {bars.map((bar) => {
              const name = texts.bar(bar.time, bar.finished, bar.error, bar.cancelled);
              return (
                <Link
                  key={bar.filter}
                  to="/executions"
                  search={{ filter: bar.filter }}
                  aria-label={name}
                  title={name}
                  preload={false}
                >
                  <Stack bar={bar} most={most} />
                </Link>
              );
            })}
          </div>
          <div className="bar-times" aria-hidden>
            <span>{bars[0]?.time}</span>
            <span>{bars.at(-1)?.time}</span>
          </div>
        </div>
      </div>
      <figcaption className="meta">
        {texts.chartHelp} {texts.most(formatNumber(most))}
      </figcaption>
      <details>
        <summary>{texts.table}</summary>
        <Numbers bars={bars} label={label} />
      </details>
    </figure>
  );
}

/** Where the parts of a bar are. What is there at all can be seen: its part has 1.5 % of the height at least. */
function stacked(bar: Bar, most: number) {
  let top = height;
  return parts
    .filter((part) => bar[part] > 0)
    .map((part) => {
      const length = Math.max(1.5, (bar[part] / most) * height);
      top -= length;
      return { part, top: Math.max(0, top), length };
    });
}

function Stack({ bar, most }: { bar: Bar; most: number }) {
  return (
    <svg viewBox={`0 0 1 ${height}`} preserveAspectRatio="none" aria-hidden>
      {stacked(bar, most).map(({ part, top, length }) => (
        <rect key={part} className={`fill-${part}`} x={0} width={1} y={top} height={length} />
      ))}
      <rect className="fill-line" x={0} width={1} y={height - 0.5} height={0.5} />
    </svg>
  );
}

function Numbers({ bars, label }: { bars: readonly Bar[]; label: string }) {
  const texts = overviewTexts();
  return (
    <table className="numbers" aria-label={label}>
      <thead>
        <tr>
          <th scope="col">{texts.time}</th>
          <th scope="col">{texts.started}</th>
          {parts.toReversed().map((part) => (
            <th key={part} scope="col">
              {t().states[part]}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {bars.map((bar) => (
          <tr key={bar.filter}>
            <th scope="row">{bar.time}</th>
            <td>{formatNumber(bar.started)}</td>
            {parts.toReversed().map((part) => (
              <td key={part}>{formatNumber(bar[part])}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
