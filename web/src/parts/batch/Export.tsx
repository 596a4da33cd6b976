import { Suspense, useState } from "react";
import type { Batch } from "../../api/batches.ts";
import { batchesTexts } from "../../messages/batches.ts";
import { Action } from "../Action.tsx";
import { later } from "../later.tsx";
import type { ItemState } from "../state.ts";

const ExportDialog = later(() => import("./ExportDialog.tsx"));

/** Offers the items that the grid shows as a file. */
export function Export(props: { batch: Batch; state: ItemState | undefined; fields: readonly string[] }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Action variant="default" onClick={() => setOpen(true)}>
        {batchesTexts().export}
      </Action>
      <Suspense>{open && <ExportDialog {...props} close={() => setOpen(false)} />}</Suspense>
    </>
  );
}
