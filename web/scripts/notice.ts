import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Plugin } from "vite";

const allowed = new Set(["MIT", "ISC", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "0BSD", "Unlicense"]);

interface Package {
  name: string;
  version: string;
  license?: string;
}

/** The folder of the package that a module belongs to. */
function folderOf(id: string): string | undefined {
  const found = /^(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id.replace(/^\0/, ""));
  return found?.[1];
}

/**
 * Text of a package's licence, as its authors ship it, or as it is in their repository where the package has none
 * (licences/NAME.txt). Empty: there is none of either.
 */
function licenceText(folder: string, name: string): string {
  const file = readdirSync(folder).find((each) => /^licen[cs]e(\.|$)/i.test(each));
  const ours = join(import.meta.dirname, "licences", `${name.replace("/", "+")}.txt`);
  if (file === undefined && !existsSync(ours)) {
    return "";
  }
  return readFileSync(file === undefined ? ours : join(folder, file), "utf8").trim();
}

/** Modules of workers, which are bundles of their own that are made while the page's is. */
const ofWorkers = new Set<string>();

/** Remembers what a worker is made of, for NOTICE.txt. */
export function noticeOfWorker(): Plugin {
  return {
    name: "chargehand-notice-of-worker",
    apply: "build",
    generateBundle() {
      for (const id of this.getModuleIds()) {
        ofWorkers.add(id);
      }
    },
  };
}

/**
 * Writes NOTICE.txt: every package that a module of the bundle comes from, with its licence. A licence that asks for
 * more than its text stops the build, and so does one without a text.
 */
export function notice(): Plugin {
  return {
    name: "chargehand-notice",
    apply: "build",
    generateBundle() {
      const folders = new Set<string>();
      for (const id of [...this.getModuleIds(), ...ofWorkers]) {
        const folder = folderOf(id);
        if (folder !== undefined) {
          folders.add(folder);
        } else if (/^\0(vite|rolldown)\//.test(id)) {
          folders.add(join(import.meta.dirname, "../node_modules", id.slice(1).split("/")[0] ?? ""));
        }
      }
      const texts = [...folders]
        .filter((folder) => existsSync(join(folder, "package.json")))
        .toSorted()
        .map((folder) => {
          const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Package;
          if (license === undefined || !allowed.has(license)) {
            this.error(`${name} has the licence ${license}: the web UI may not ship it (scripts/notice.ts)`);
          }
          const text = licenceText(folder, name);
          if (text === "") {
            this.error(`${name} has no text of its licence: put that of its repository into scripts/licences`);
          }
          return `${name} ${version}: ${license}\n\n${text}\n`;
        });
      const head = "The web UI of Chargehand holds code of these packages.\n";
      this.emitFile({
        type: "asset",
        fileName: "NOTICE.txt",
        source: [head, ...texts].join(`\n${"-".repeat(80)}\n\n`),
      });
    },
  };
}
