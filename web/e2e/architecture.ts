/** A part of the program, or what is around it. */
interface Box {
  x: number;
  y: number;
  width: number;
  name: string;
  text: string;
  /** Where its code is, from the folder of the repository. */
  folder?: string;
  outside?: boolean;
}

const height = 56;

const boxes: Record<string, Box> = {
  people: { x: 20, y: 20, width: 200, name: "People", text: "browser, command line", outside: true },
  programs: { x: 240, y: 20, width: 200, name: "Programs", text: "HTTP, API keys", outside: true },
  ui: { x: 40, y: 136, width: 180, name: "Web UI", text: "the public API alone", folder: "web" },
  api: { x: 240, y: 136, width: 400, name: "API", text: "HTTP, OpenAPI, sign-in, rights", folder: "internal/api" },
  service: {
    x: 240,
    y: 222,
    width: 400,
    name: "Service",
    text: "the rules: who may, what is valid, limits",
    folder: "internal/service",
  },
  engine: {
    x: 240,
    y: 308,
    width: 190,
    name: "Engine",
    text: "embedded, or Temporal",
    folder: "internal/engine",
  },
  machine: { x: 450, y: 308, width: 190, name: "Machine", text: "pure: events, commands", folder: "internal/machine" },
  activity: {
    x: 450,
    y: 394,
    width: 190,
    name: "Activities",
    text: "calls, scripts, containers",
    folder: "internal/activity",
  },
  store: { x: 240, y: 394, width: 190, name: "Store", text: "rows, journal, files", folder: "internal/store" },
  database: { x: 240, y: 510, width: 190, name: "SQLite or PostgreSQL", text: "and a folder or S3", outside: true },
  services: { x: 450, y: 510, width: 190, name: "Other services", text: "HTTP, events, mail", outside: true },
};

const arrows: [from: keyof typeof boxes, to: keyof typeof boxes][] = [
  ["people", "ui"],
  ["programs", "api"],
  ["ui", "api"],
  ["api", "service"],
  ["service", "engine"],
  ["engine", "machine"],
  ["engine", "store"],
  ["engine", "activity"],
  ["store", "database"],
  ["activity", "services"],
];

/** The folders that the picture names. */
export const folders = Object.values(boxes).flatMap((box) => box.folder ?? []);

/** The picture of the architecture, as README.md shows it. */
export function architecture(): string {
  const drawn = Object.values(boxes).map(
    (box) =>
      `<rect x="${box.x}" y="${box.y}" width="${box.width}" height="${height}" rx="4" fill="${box.outside ? "#ffffff" : "#f6f7f9"}" stroke="#8993a4"${box.outside ? ' stroke-dasharray="4 3"' : ""}/>` +
      `<text x="${box.x + 12}" y="${box.y + 24}" font-weight="600">${box.name}</text>` +
      `<text x="${box.x + 12}" y="${box.y + 43}" fill="#5a6472" font-size="12">${box.text}</text>`,
  );
  const lines = arrows.map(([from, to]) => line(boxes[from], boxes[to]));
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 680 586" font-family="system-ui, sans-serif" font-size="14" fill="#1a1f26" role="img" aria-label="The parts of Chargehand">',
    '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#5a6472"/></marker></defs>',
    '<rect width="680" height="586" fill="#ffffff"/>',
    '<rect x="20" y="104" width="640" height="366" rx="6" fill="none" stroke="#3b4cca"/>',
    '<text x="36" y="126" fill="#3b4cca" font-size="12" font-weight="600">one binary</text>',
    ...lines,
    ...drawn,
    "</svg>",
    "",
  ].join("\n");
}

/** From one box to another: down where they lie below each other, else to the side. */
function line(from: Box | undefined, to: Box | undefined): string {
  if (!from || !to) {
    return "";
  }
  const overlap = [Math.max(from.x, to.x), Math.min(from.x + from.width, to.x + to.width)] as const;
  const middle = (overlap[0] + overlap[1]) / 2;
  const [x1, y1, x2, y2] =
    from.y === to.y
      ? [from.x + from.width, from.y + height / 2, to.x, to.y + height / 2]
      : overlap[0] < overlap[1]
        ? [middle, from.y + height, middle, to.y]
        : [from.x + from.width, from.y + height, to.x, to.y];
  return `<path d="M${x1} ${y1} ${x2} ${y2}" stroke="#5a6472" fill="none" marker-end="url(#end)"/>`;
}
