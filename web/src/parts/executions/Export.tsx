import { Suspense, useState } from "react";
import { executionsTexts } from "../../messages/executions.ts";
import { Action } from "../Action.tsx";
import type { Query } from "../filter.ts";
import { later } from "../later.tsx";

const ExportDialog = later(() => import("./ExportDialog.tsx"));

/** Offers what the list shows, all pages of it, as a file. */
export function Export({ query }: { query: () => Query }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Action variant="default" onClick={() => setOpen(true)}>
        {executionsTexts().export}
      </Action>
      <Suspense>{open && <ExportDialog query={query} close={() => setOpen(false)} />}</Suspense>
    </>
  );
}
