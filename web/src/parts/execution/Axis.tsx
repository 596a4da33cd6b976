import { useState } from "react";
import { executionTexts } from "../../messages/execution.ts";
import { formatDuration } from "../../messages/format.ts";
import { ticksOf, type Scale } from "./scale.ts";
import { useRange, type Range } from "./useRange.ts";
import { spanBetween, type Span } from "./zoom.ts";

/** How many ticks there are at most. */
const most = 4;
/** From this place on the text of a tick has no room. */
const last = 0.9;

/**
 * The times above the bars. Who drags over it zooms in on what was dragged over; the brush and the buttons above it do
 * the same with keys.
 */
export function Axis({ scale, start, zoom }: { scale: Scale; start: number; zoom: (span: Span) => void }) {
  const [from, to] = [scale.from - start, scale.to - start];
  const [range, setRange] = useState<Range>();
  const drag = useRange({
    move: setRange,
    done: (chosen) => {
      setRange(undefined);
      if (chosen) {
        const part = spanBetween(scale, chosen.from, chosen.to);
        zoom({ from: part.from + from, to: part.to + from });
      }
    },
  });
  return (
    <div className="timeline-head">
      <span className="meta">
        {executionTexts().timeline.part(formatDuration(from), formatDuration(to), formatDuration(to - from))}
      </span>
      <div className="axis" aria-hidden {...drag}>
        {textsOf(scale, start).map(({ place, text }) => (
          <span key={place} className="tick" style={{ left: `${place * 100}%` }}>
            {place < last && text}
          </span>
        ))}
        {range && (
          <span
            className="axis-range"
            style={{
              left: `${Math.min(range.from, range.to) * 100}%`,
              width: `${Math.abs(range.to - range.from) * 100}%`,
            }}
          />
        )}
      </div>
    </div>
  );
}

/** What ticks say: how long after the start they are, or, where that would be the same, after the one before. */
function textsOf(scale: Scale, start: number): { place: number; text: string }[] {
  let base = { since: NaN, text: "" };
  return ticksOf(scale, start, most).map(({ since, place }) => {
    const text = formatDuration(since);
    if (text === base.text) {
      return { place, text: `+${formatDuration(since - base.since)}` };
    }
    base = { since, text };
    return { place, text };
  });
}
