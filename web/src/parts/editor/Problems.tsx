import { Button } from "@mantine/core";
import { IconAlertOctagon } from "@tabler/icons-react";
import type { Remark } from "../../editor/code.ts";
import { definitionTexts } from "../../messages/definition.ts";
import { Failure, WarningIcon } from "../Notice.tsx";

/** What is wrong with a definition. Each leads to its place. */
export default function Problems({
  remarks,
  checking,
  error,
  again,
  go,
}: {
  remarks: readonly Remark[];
  checking: boolean;
  error: unknown;
  again: () => void;
  go: (remark: Remark) => void;
}) {
  const texts = definitionTexts().editor;
  const errors = remarks.filter((remark) => remark.severity === "error").length;
  return (
    <section className="problems" aria-label={texts.problems}>
      <div role="status">
        <h2>
          {checking
            ? texts.checking
            : error === undefined
              ? texts.found(errors, remarks.length - errors)
              : texts.unchecked}
        </h2>
      </div>
      {error !== undefined && !checking && <Failure error={error} retry={again} />}
      <ul>
        {remarks.map((remark) => {
          const isError = remark.severity === "error";
          const Icon = isError ? IconAlertOctagon : WarningIcon;
          return (
            <li key={`${remark.line} ${remark.column} ${remark.detail}`}>
              <Button variant="subtle" size="compact-sm" onClick={() => go(remark)}>
                <span className={`problem ${isError ? "problem-error" : "problem-warning"}`}>
                  <Icon aria-hidden size={16} />
                  <span>{texts.place(isError, remark.line, remark.column)}</span>
                  <span className="problem-text">{remark.detail}</span>
                </span>
              </Button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
