import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { Plugin } from "vite";

/** Packs the files with hashed names: the server has them packed alone, and unpacks them for the rare client. */
export function pack(): Plugin {
  let folder = "";
  return {
    name: "chargehand-pack",
    apply: "build",
    configResolved(config) {
      folder = join(config.root, config.build.outDir);
    },
    closeBundle: {
      sequential: true,
      async handler() {
        const assets = join(folder, "assets");
        const names = await readdir(assets);
        await Promise.all(
          names.map(async (name) => {
            const packed = await promisify(gzip)(await readFile(join(assets, name)), { level: 9 });
            await writeFile(join(assets, `${name}.gz`), packed);
            await rm(join(assets, name));
          }),
        );
        await writeFile(join(folder, ".keep"), ""); // without it, Go has nothing to embed after `git clean`
      },
    },
  };
}
