import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Plugin } from "vite";

interface Chunk {
  file: string;
  isEntry?: boolean;
  isDynamicEntry?: boolean;
  imports?: string[];
  css?: string[];
}

/** What browsers should have to load at most, in thousands of bytes, packed with gzip. */
const limits = { entry: 185, route: 200, graph: 80, editor: 135, css: 25, worker: 30 };

/** Stops the build when the bundle that pack has left is too large. */
export function size(): Plugin {
  let dist = "";
  return {
    name: "chargehand-size",
    apply: "build",
    configResolved(config) {
      dist = join(config.root, config.build.outDir);
    },
    closeBundle: {
      order: "post",
      sequential: true,
      async handler() {
        const manifest = JSON.parse(await readFile(join(dist, "manifest.json"), "utf8")) as Record<string, Chunk>;
        const kilobytes = async (files: Iterable<string>) => {
          const sizes = await Promise.all([...files].map(async (file) => (await stat(join(dist, `${file}.gz`))).size));
          return sizes.reduce((sum, length) => sum + length, 0) / 1000;
        };
        const [entry = ""] = Object.entries(manifest).find(([, c]) => c.isEntry) ?? [];
        const first = scripts(manifest, entry);
        const styles = Object.values(manifest).flatMap((c) => (first.has(c.file) ? (c.css ?? []) : []));
        const rows = [
          { what: "the entry", kb: await kilobytes(first), limit: limits.entry },
          { what: "the styles of the entry", kb: await kilobytes(new Set(styles)), limit: limits.css },
        ];
        for (const name of Object.keys(manifest)) {
          if (manifest[name]?.isDynamicEntry && name.startsWith("src/routes/")) {
            const kb = await kilobytes(new Set([...first, ...scripts(manifest, name)]));
            rows.push({ what: `the entry and ${name}`, kb, limit: limits.route });
          }
        }
        const later = [
          { what: "the graph", name: "src/parts/execution/GraphView.tsx", with: "execution", limit: limits.graph },
          { what: "the editor", name: "src/parts/editor/Workbench.tsx", with: "workflow-new", limit: limits.editor },
        ];
        for (const { what, name, with: route, limit } of later) {
          const before = new Set([...first, ...scripts(manifest, `src/routes/${route}.tsx`)]);
          const more = [...scripts(manifest, name)].filter((file) => !before.has(file));
          rows.push({ what, kb: await kilobytes(more), limit });
        }
        for (const name of await readdir(join(dist, "assets"))) {
          const [, worker] = /^(.*\.worker-.*\.js)\.gz$/.exec(name) ?? [];
          if (worker !== undefined) {
            rows.push({ what: worker, kb: await kilobytes([`assets/${worker}`]), limit: limits.worker });
          }
        }
        for (const { what, kb, limit } of rows) {
          const text = `${what} has ${kb.toFixed(1)} of ${limit} KB`;
          if (kb > limit) {
            this.error(text);
          }
          this.info(text);
        }
      },
    },
  };
}

/** Files of script that a chunk loads before it runs, and itself. */
function scripts(manifest: Record<string, Chunk>, name: string, seen = new Set<string>()): Set<string> {
  const chunk = manifest[name];
  if (chunk && !seen.has(chunk.file)) {
    seen.add(chunk.file);
    chunk.imports?.forEach((other) => scripts(manifest, other, seen));
  }
  return seen;
}
