import { executionsBy, executionsOf } from "../../api/exported.ts";
import type { Execution } from "../../api/executions.ts";
import type { Target } from "../../api/operations.ts";
import { exportTexts } from "../../messages/export.ts";
import { ExportDialog } from "../ExportDialog.tsx";
import { executionLines, executionNames } from "./table.ts";

/** Saves executions as a file: those that match a filter, or those that are selected. */
export default function ExportExecutions({ target, close }: { target: Target; close: () => void }) {
  const texts = exportTexts().executions;
  const own =
    "ids" in target
      ? {
          help: texts.helpSelected(target.ids.length),
          none: texts.noneSelected,
          pages: () => executionsOf(target.ids),
          expected: target.ids.length,
        }
      : {
          help: texts.help,
          none: texts.none,
          pages: (lines: boolean) => executionsBy(target.query, lines),
        };
  return (
    <ExportDialog<Execution>
      list={{
        title: texts.title,
        name: "executions",
        names: executionNames,
        lines: executionLines,
        count: texts.count,
        cut: texts.cut,
        ...own,
      }}
      close={close}
    />
  );
}
