import { defineConfig } from "vite";

/** Where a running `onehop serve` answers while the pages are being worked on. */
const server = process.env.ONEHOP_URL ?? "http://127.0.0.1:8080";

const proxy = { "^/graphql$": { target: server, ws: true, changeOrigin: true } };

export default defineConfig({
  appType: "mpa",
  build: {
    // Monaco is one editor and arrives as one chunk; only the playground asks for it.
    chunkSizeWarningLimit: 4500,
    rolldownOptions: {
      input: ["index.html", "graphiql.html"],
      // "use client" in React libraries speaks to servers that render; there is none here.
      checks: { moduleLevelDirective: false },
    },
  },
  server: { proxy },
  preview: { proxy },
});
