import { useState, type PointerEvent } from "react";

/** A range between two places of an element, from 0 to 1, in the order in which they were taken. */
export interface Range {
  from: number;
  to: number;
}

/** A pointer that has moved less than this many pixels has not dragged. */
const still = 4;

/** Where the pointer is over the element that listens. */
const placeOf = (event: PointerEvent) => {
  const box = event.currentTarget.getBoundingClientRect();
  return Math.min(1, Math.max(0, (event.clientX - box.left) / Math.max(1, box.width)));
};

/** Drags of the pointer from side to side over an element. Its box is that of the element that has the listeners. */
export function useRange({
  begin,
  move,
  done,
  press,
}: {
  /** Whether there is something to drag where the pointer goes down. */
  begin?: (place: number, target: EventTarget) => void;
  move: (range: Range) => void;
  done: (range: Range | undefined) => void;
  /** The pointer went up where it had gone down. */
  press?: (place: number) => void;
}) {
  const [from, setFrom] = useState<{ place: number; x: number; moved: boolean }>();
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.button === 0 && event.isPrimary) {
        event.currentTarget.setPointerCapture(event.pointerId);
        const place = placeOf(event);
        setFrom({ place, x: event.clientX, moved: false });
        begin?.(place, event.target);
      }
    },
    onPointerMove: (event: PointerEvent) => {
      if (from && (from.moved || Math.abs(event.clientX - from.x) >= still)) {
        setFrom({ ...from, moved: true });
        move({ from: from.place, to: placeOf(event) });
      }
    },
    onPointerUp: (event: PointerEvent) => {
      if (from) {
        setFrom(undefined);
        const place = placeOf(event);
        if (from.moved) {
          done({ from: from.place, to: place });
        } else {
          press?.(place);
          done(undefined);
        }
      }
    },
    onPointerCancel: () => {
      setFrom(undefined);
      done(undefined);
    },
  };
}
