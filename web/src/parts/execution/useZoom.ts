import { useState } from "react";
import type { Address, Go } from "./address.ts";
import { readZoom, writeZoom, type Span } from "./zoom.ts";

export interface Zooming {
  span: Span;
  /** Something is left out. */
  zoomed: boolean;
  /** Shows a part while it is being chosen; the address is as it was. */
  show: (span: Span) => void;
  /** Keeps a part in the address: the one that was shown last, if none is given. */
  keep: (span?: Span) => void;
  /** Goes back to the part of the address. */
  drop: () => void;
}

/** A part that is not in the address: it is being chosen, or on its way there. */
interface Shown {
  span: Span;
  asked?: { zoom: string | undefined };
}

/** The part of an execution that its timeline shows, which has taken so many milliseconds. */
export function useZoom({ zoom }: Address, go: Go, length: number): Zooming {
  const [shown, setShown] = useState<Shown>();
  if (shown?.asked && shown.asked.zoom === zoom) {
    setShown(undefined); // it has arrived
  }
  const span = shown?.span ?? readZoom(zoom, length);
  return {
    span,
    zoomed: writeZoom(span, length) !== undefined,
    show: (next) => setShown({ span: next }),
    keep: (chosen = shown?.span) => {
      if (chosen) {
        const asked = { zoom: writeZoom(chosen, length) };
        setShown({ span: chosen, asked });
        go(asked);
      }
    },
    drop: () => setShown(undefined),
  };
}
