import { formatDuration, formatNumber } from "../messages/format.ts";

const units = ["KiB", "MiB", "GiB", "TiB"];

/** A number of bytes in the largest unit that it has one of: 1 MiB, 1.5 GiB. */
export function formatBytes(bytes: number): string {
  let [value, unit] = [bytes, "B"];
  for (const next of units) {
    if (value < 1024) {
      break;
    }
    [value, unit] = [value / 1024, next];
  }
  return `${formatNumber(Math.round(value * 10) / 10)} ${unit}`;
}

/** The value of a limit in the unit that its name ends in. */
export function formatAmount(name: string, value: number): string {
  const unit = name
    .replace(/_of_\w+$|_per_\w+$/, "")
    .split("_")
    .at(-1);
  if (unit === "bytes") {
    return formatBytes(value);
  }
  return unit === "seconds" ? formatDuration(value * 1000) : formatNumber(value);
}
