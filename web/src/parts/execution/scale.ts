/** Milliseconds of a time that nothing runs in, from and to. */
export interface Idle {
  from: number;
  to: number;
}

/** Where a time is on the axis: from 0 to 1. Idle times that are collapsed have a small width of their own. */
export interface Scale {
  place: (time: number) => number;
  idle: readonly Idle[];
  from: number;
  to: number;
}

/** An idle time is collapsed when it is longer than this share of all. */
const share = 0.05;
/** Width of a collapsed idle time. */
const width = 0.02;

export function makeScale(
  from: number,
  to: number,
  busy: readonly (readonly [number, number])[],
  collapse: boolean,
): Scale {
  const whole = Math.max(1, to - from);
  const idle = collapse ? idleTimes(from, to, busy).filter((time) => time.to - time.from > whole * share) : [];
  const left = whole - idle.reduce((sum, time) => sum + time.to - time.from, 0);
  const fixed = idle.length * width;
  const place = (time: number) => {
    const at = Math.min(Math.max(time, from), from + whole);
    let worked = at - from;
    let before = 0;
    for (const { from: start, to: end } of idle) {
      if (at > start) {
        worked -= Math.min(at, end) - start;
        before += at >= end ? width : (width * (at - start)) / (end - start);
      }
    }
    return before + (left > 0 ? (worked / left) * (1 - fixed) : 0);
  };
  return { place, idle, from, to };
}

function idleTimes(from: number, to: number, busy: readonly (readonly [number, number])[]): Idle[] {
  const found: Idle[] = [];
  let at = from;
  for (const [start, end] of busy.toSorted((a, b) => a[0] - b[0])) {
    if (start > at) {
      found.push({ from: at, to: start });
    }
    at = Math.max(at, end);
  }
  if (to > at) {
    found.push({ from: at, to });
  }
  return found;
}
