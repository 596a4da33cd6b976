import { Suspense } from "react";
import type { DialogProps } from "./DialogWindow.tsx";
import { later } from "./later.tsx";

const Window = later(() => import("./DialogWindow.tsx"));

/** A dialog over the page. It has the focus, and gives it back. Its code is loaded with the first one that opens. */
export function Dialog(props: DialogProps) {
  return (
    <Suspense>
      <Window {...props} />
    </Suspense>
  );
}
