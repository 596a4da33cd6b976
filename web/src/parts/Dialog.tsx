import { lazy, Suspense } from "react";
import type { DialogProps } from "./DialogWindow.tsx";
import { withTexts } from "../messages/index.ts";

const Window = lazy(() => withTexts(import("./DialogWindow.tsx")));

/** A dialog over the page. It has the focus, and gives it back. Its code is loaded with the first one that opens. */
export function Dialog(props: DialogProps) {
  return (
    <Suspense>
      <Window {...props} />
    </Suspense>
  );
}
