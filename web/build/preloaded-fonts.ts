import type { Plugin } from "vite";

/** The font of every page. */
const SHOWN = /\/figtree-latin-wght-normal-[^/]*\.woff2$/;
/** The font of texts, which the server preloads on pages that show it. The italic one is loaded where a text has emphasis. */
const READING = /\/source-serif-4-latin-wght-normal-[^/]*\.woff2$/;

/**
 * Preloads the fonts of the pages. They are optional: a page keeps the fonts that it began with, so that nothing moves, and
 * a font that is requested only once the style sheet has come is too late for a first visit.
 */
export function preloadedFonts(): Plugin {
  return {
    name: "preloaded-fonts",
    transformIndexHtml: {
      order: "post",
      handler: (html, { bundle, path }) => {
        const names = path === "/index.html" ? Object.keys(bundle ?? {}) : [];
        const reading = names.find((name) => READING.test(name));
        const mark = reading === undefined ? "" : `<!-- reading-font /${reading} -->`;
        return {
          html: html.replace("</head>", `${mark}</head>`),
          tags: names
            .filter((name) => SHOWN.test(name))
            .map((name) => ({
              tag: "link",
              attrs: { rel: "preload", as: "font", type: "font/woff2", crossorigin: "", href: `/${name}` },
              injectTo: "head",
            })),
        };
      },
    },
  };
}
