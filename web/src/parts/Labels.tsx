import { Link } from "@tanstack/react-router";
import { print } from "./filter.ts";
import "../styles/labels.css";

/** Labels of an execution or a batch. Each leads to the executions that have it, where a filter can say it. */
export function Labels({ labels }: { labels: Readonly<Record<string, string>> | undefined }) {
  return (
    <>
      {Object.entries(labels ?? {}).map(([name, value]) => {
        const text = `${name}=${value}`;
        return value.includes('"') ? (
          <span key={name} className="label">
            {text}
          </span>
        ) : (
          <Link
            key={name}
            className="label"
            to="/executions"
            search={{ filter: print([{ key: "label", value: text }]) }}
          >
            {text}
          </Link>
        );
      })}
    </>
  );
}
