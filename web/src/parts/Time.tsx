import { formatDuration, formatExact, formatRelative } from "../messages/format.ts";
import { useNow } from "./clock.ts";

/** A time in relation to now. The exact one is its title, and what a screen reader reads. */
export function When({ at }: { at: string }) {
  const now = useNow();
  const time = new Date(at);
  return (
    <time dateTime={at} title={formatExact(time)}>
      {formatRelative(time, now)}
    </time>
  );
}

/** How long something took, or takes by now. */
export function Took({ from, to }: { from: string | undefined; to: string | undefined }) {
  const now = useNow();
  if (from === undefined) {
    return null;
  }
  const end = to === undefined ? now : new Date(to);
  return <span className="number">{formatDuration(end.getTime() - new Date(from).getTime())}</span>;
}
