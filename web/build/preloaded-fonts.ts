import type { Plugin } from "vite";

/** The upright fonts, which every page shows. The italic one is loaded where a text has emphasis. */
const SHOWN = /\/(figtree|source-serif-4)-latin-wght-normal-[^/]*\.woff2$/;

/**
 * Preloads the fonts of the pages. They are optional: a page keeps the fonts that it began with, so that nothing moves, and
 * a font that is requested only once the style sheet has come is too late for a first visit.
 */
export function preloadedFonts(): Plugin {
  return {
    name: "preloaded-fonts",
    transformIndexHtml: {
      order: "post",
      handler: (_html, { bundle, path }) => {
        const fonts = path === "/index.html" ? Object.keys(bundle ?? {}).filter((name) => SHOWN.test(name)) : [];
        return fonts.map((name) => ({
          tag: "link",
          attrs: { rel: "preload", as: "font", type: "font/woff2", crossorigin: "", href: `/${name}` },
          injectTo: "head",
        }));
      },
    },
  };
}
