import type { Batch, Item } from "../../api/batches.ts";
import { itemsOf } from "../../api/exported.ts";
import { exportTexts } from "../../messages/export.ts";
import { formatList } from "../../messages/format.ts";
import { t } from "../../messages/index.ts";
import { ExportDialog } from "../ExportDialog.tsx";
import { phaseOf, type ItemState } from "../state.ts";
import { itemTable } from "./table.ts";

/** Saves the items that the grid shows as a file: those in one state, or all. */
export default function ExportItems({
  batch,
  state,
  fields,
  close,
}: {
  batch: Batch;
  state: ItemState | undefined;
  fields: readonly string[];
  close: () => void;
}) {
  const texts = exportTexts().items;
  const help = state === undefined ? texts.help : texts.helpState(t().states[state]);
  return (
    <ExportDialog<Item>
      list={{
        title: texts.title,
        help: fields.length === 0 ? help : `${help} ${texts.helpFields(formatList(fields))}`,
        name: `batch-${batch.id}-items`,
        pages: () => itemsOf(batch, state && phaseOf[state]),
        count: texts.count,
        none: texts.none,
        cut: texts.cut,
        ...itemTable(fields),
      }}
      close={close}
    />
  );
}
