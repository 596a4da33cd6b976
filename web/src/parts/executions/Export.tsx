import { Suspense, useState } from "react";
import type { Target } from "../../api/operations.ts";
import { executionsTexts } from "../../messages/executions.ts";
import { Action } from "../Action.tsx";
import { later } from "../later.tsx";

const ExportDialog = later(() => import("./ExportDialog.tsx"));

/** Offers executions as a file: all that match the filter of the list, or what is selected in it. */
export function Export({ target }: { target: () => Target }) {
  const [asked, setAsked] = useState<Target>();
  return (
    <>
      <Action variant="default" onClick={() => setAsked(target())}>
        {executionsTexts().export}
      </Action>
      <Suspense>{asked && <ExportDialog target={asked} close={() => setAsked(undefined)} />}</Suspense>
    </>
  );
}
