import { Link } from "@tanstack/react-router";
import { print } from "./filter.ts";
import "../styles/labels.css";

/** Labels of an execution or a batch. Each leads to the executions that have it, where a filter can say it. */
export function Labels({
  labels,
  short = false,
}: {
  labels: Readonly<Record<string, string>> | undefined;
  /** Only values are shown, where there is little room. */
  short?: boolean;
}) {
  return (
    <>
      {Object.entries(labels ?? {}).map(([name, value]) => {
        const text = `${name}=${value}`;
        const shown = short ? value : text;
        return value.includes('"') ? (
          <span key={name} className="label" title={text}>
            {shown}
          </span>
        ) : (
          <Link
            key={name}
            className="label"
            to="/executions"
            search={{ filter: print([{ key: "label", value: text }]) }}
            title={text}
          >
            {shown}
          </Link>
        );
      })}
    </>
  );
}
