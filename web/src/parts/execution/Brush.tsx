import { ActionIcon, Button } from "@mantine/core";
import { IconZoomIn, IconZoomOut } from "@tabler/icons-react";
import { useMemo, useRef, type KeyboardEvent } from "react";
import { executionTexts } from "../../messages/execution.ts";
import { formatDuration } from "../../messages/format.ts";
import { marksOf, type Busy, type Scale } from "./scale.ts";
import { useRange } from "./useRange.ts";
import type { Zooming } from "./useZoom.ts";
import { centre, moveEnd, placesOf, pushEnd, spanBetween, zoomBy, type Span } from "./zoom.ts";

/** How far an arrow moves an end of the part that is shown, and PageUp, as a share of the strip. */
const step = 0.02;
const leap = 0.1;

/** The whole time of an execution as a strip, on which the part is chosen that the timeline shows. */
export function Brush({ scale, busy, zooming }: { scale: Scale; busy: Busy; zooming: Zooming }) {
  const texts = executionTexts().timeline;
  const { span, zoomed, keep } = zooming;
  const marks = useMemo(() => marksOf(scale, busy), [scale, busy]);
  const [left, right] = placesOf(scale, span);
  const drag = useDrag(scale, zooming, left, right);
  return (
    <div className="zoom" role="group" aria-label={texts.zoom}>
      <div className="brush">
        <div className="brush-track" {...drag}>
          {marks.map((mark) => (
            <span
              key={mark.at}
              className="brush-mark"
              style={{ left: `${mark.at * 100}%`, width: `${mark.width * 100}%` }}
            />
          ))}
          <span className="brush-part" style={{ left: `${left * 100}%`, right: `${(1 - right) * 100}%` }} />
          <Handle end="from" place={left} scale={scale} zooming={zooming} />
          <Handle end="to" place={right} scale={scale} zooming={zooming} />
        </div>
      </div>
      <div className="zoom-actions">
        <ActionIcon aria-label={texts.zoomIn} title={texts.zoomIn} onClick={() => keep(zoomBy(scale, span, 0.5))}>
          <IconZoomIn aria-hidden size={16} />
        </ActionIcon>
        <ActionIcon
          aria-label={texts.zoomOut}
          title={texts.zoomOut}
          disabled={!zoomed}
          onClick={() => keep(zoomBy(scale, span, 2))}
        >
          <IconZoomOut aria-hidden size={16} />
        </ActionIcon>
        <Button
          variant="default"
          size="compact-sm"
          disabled={!zoomed}
          onClick={() => keep({ from: 0, to: scale.to - scale.from })}
        >
          {texts.whole}
        </Button>
      </div>
    </div>
  );
}

/**
 * What the pointer does on the strip: it moves an end, or the part that is shown, or chooses another part. Where it is
 * only pressed, the part moves there.
 */
function useDrag(scale: Scale, { span, zoomed, show, keep, drop }: Zooming, left: number, right: number) {
  const taken = useRef<{ what: keyof Span | "part" | "new"; span: Span; middle: number }>(undefined);
  const chosen = ({ from, to }: { from: number; to: number }) => {
    if (!taken.current || taken.current.what === "new") {
      return spanBetween(scale, from, to);
    }
    const { what, span: before, middle } = taken.current;
    return what === "part" ? centre(scale, before, middle + to - from) : moveEnd(scale, before, what, to);
  };
  return useRange({
    begin: (place, target) => {
      const end = target instanceof HTMLElement ? target.dataset["end"] : undefined;
      const inside = zoomed && place >= left && place <= right;
      const what = end === "from" || end === "to" ? end : inside ? "part" : "new";
      taken.current = { what, span, middle: (left + right) / 2 };
    },
    move: (range) => show(chosen(range)),
    done: (range) => (range ? keep(chosen(range)) : drop()),
    press: (place) => {
      if (zoomed && taken.current?.what === "new") {
        keep(centre(scale, span, place));
      }
    },
  });
}

/** An end of the part that is shown, which arrows move. */
function Handle({
  end,
  place,
  scale,
  zooming: { span, show, keep },
}: {
  end: keyof Span;
  place: number;
  scale: Scale;
  zooming: Zooming;
}) {
  const texts = executionTexts().timeline;
  const press = (event: KeyboardEvent) => {
    const by = {
      ArrowLeft: -step,
      ArrowDown: -step,
      ArrowRight: step,
      ArrowUp: step,
      PageDown: -leap,
      PageUp: leap,
      Home: -1,
      End: 1,
    }[event.key];
    if (by !== undefined) {
      show(pushEnd(scale, span, end, by));
      event.preventDefault();
    }
  };
  return (
    <span
      className="brush-end"
      role="slider"
      tabIndex={0}
      data-end={end}
      aria-label={end === "from" ? texts.partFrom : texts.partTo}
      aria-valuemin={end === "from" ? 0 : span.from}
      aria-valuemax={end === "from" ? span.to : scale.to - scale.from}
      aria-valuenow={span[end]}
      aria-valuetext={formatDuration(span[end])}
      style={{ left: `${place * 100}%` }}
      onKeyDown={press}
      // An address may change so often only: it does when the key goes up, and when the focus leaves.
      onKeyUp={() => keep()}
      onBlur={() => keep()}
    />
  );
}
