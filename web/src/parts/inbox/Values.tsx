import { isObject, type Value } from "../form/value.ts";
import { JsonTree } from "../JsonTree.tsx";
import "../../styles/execution.css";

/** Data as a person reads it: properties by their names, what is deeper as a tree. */
export function Values({ value, name }: { value: Value; name: string }) {
  if (!isObject(value)) {
    return <One value={value} name={name} />;
  }
  return (
    <dl className="facts task-values">
      {Object.entries(value).map(([key, each]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>
            <One value={each} name={key} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

function One({ value, name }: { value: Value; name: string }) {
  if (typeof value === "object" && value !== null) {
    return <JsonTree value={value} name={name} />;
  }
  return <span className="task-value">{typeof value === "string" ? value : JSON.stringify(value ?? null)}</span>;
}
