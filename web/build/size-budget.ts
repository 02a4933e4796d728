import { brotliCompressSync } from "node:zlib";
import type { Plugin, Rolldown } from "vite";

/** What the scripts of whichever page is opened first may weigh over the wire, in bytes. */
const FIRST_ROUTE_BYTES_MAX = 120_000;

const ENTRY = "index.html";

/** Fails a build in which a page needs more script than it may when it is the first to be opened. */
export function sizeBudget(): Plugin {
  return {
    name: "size-budget",
    apply: "build",
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((output) => output.type === "chunk");
      const entry = chunks.find(({ facadeModuleId }) => facadeModuleId?.endsWith(ENTRY) === true);
      if (entry === undefined) {
        this.error(`There is no ${ENTRY} to weigh.`);
      }
      const routes = chunks.filter(({ isDynamicEntry, name }) => isDynamicEntry && name.endsWith("Page"));
      for (const route of routes) {
        const scripts = new Set([...withImports(entry, bundle), ...withImports(route, bundle)]);
        const bytes = [...scripts].reduce((sum, { code }) => sum + brotliCompressSync(code).length, 0);
        this.info(`${route.name} as the first route: ${bytes} bytes of script over the wire`);
        if (bytes > FIRST_ROUTE_BYTES_MAX) {
          this.error(
            `${route.name} as the first route takes ${bytes} bytes of script; ${FIRST_ROUTE_BYTES_MAX} is the limit.`,
          );
        }
      }
    },
  };
}

/** A chunk and all that it cannot run without. */
function withImports(
  chunk: Rolldown.OutputChunk,
  bundle: Rolldown.OutputBundle,
  found = new Set<Rolldown.OutputChunk>(),
): Set<Rolldown.OutputChunk> {
  if (!found.has(chunk)) {
    found.add(chunk);
    for (const name of chunk.imports) {
      const imported = bundle[name];
      if (imported?.type === "chunk") {
        withImports(imported, bundle, found);
      }
    }
  }
  return found;
}
