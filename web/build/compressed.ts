import { createReadStream, createWriteStream, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { constants, createBrotliCompress, createGzip } from "node:zlib";
import type { Plugin } from "vite";

/** Smaller files fit into one packet as they are. In bytes. */
const BYTES_MIN = 1_000;
/** Above this the strongest compression takes longer than it is worth: the playground's editor. In bytes. */
const STRONGEST_BYTES_MAX = 500_000;

/** Puts each file of the build beside itself as the server sends it: by brotli and by gzip. */
export function compressed(): Plugin {
  let folder: string;
  return {
    name: "compressed",
    apply: "build",
    configResolved({ root, build }) {
      folder = join(root, build.outDir);
    },
    async closeBundle() {
      for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        const file = join(folder, path);
        const { size } = statSync(file);
        if (/\.(js|css|html|svg|json|ttf)$/.test(path) && size >= BYTES_MIN) {
          const quality = size > STRONGEST_BYTES_MAX ? 6 : 11;
          const brotli = createBrotliCompress({ params: { [constants.BROTLI_PARAM_QUALITY]: quality } });
          await pipeline(createReadStream(file), brotli, createWriteStream(`${file}.br`));
          await pipeline(createReadStream(file), createGzip({ level: 9 }), createWriteStream(`${file}.gz`));
        }
      }
    },
  };
}
