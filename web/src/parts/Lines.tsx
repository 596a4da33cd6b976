import { useId } from "react";

/** A field for a list of texts, one a line. */
export function Lines({
  label,
  help,
  rows = 2,
  value,
  wrong,
  change,
}: {
  label: string;
  help?: string;
  rows?: number;
  value: string;
  wrong: string | undefined;
  change: (text: string) => void;
}) {
  const id = useId();
  return (
    <div className="lines-field">
      <label htmlFor={id}>{label}</label>
      {help !== undefined && (
        <span id={`${id}-help`} className="meta">
          {help}
        </span>
      )}
      <textarea
        id={id}
        className="area mono"
        rows={rows}
        spellCheck={false}
        aria-describedby={help === undefined ? undefined : `${id}-help`}
        aria-invalid={wrong !== undefined || undefined}
        value={value}
        onChange={(event) => change(event.currentTarget.value)}
      />
      {wrong !== undefined && <p className="complaint">{wrong}</p>}
    </div>
  );
}
