import { defineConfig } from "vite";
import { compressed } from "./build/compressed.js";
import { preloadedFonts } from "./build/preloaded-fonts.js";
import { sizeBudget } from "./build/size-budget.js";

/** Where a running `onehop serve` answers while the pages are being worked on. */
const server = process.env.ONEHOP_URL ?? "http://127.0.0.1:8080";

const proxy = {
  "^/graphql$": { target: server, ws: true },
  "^/operations/graphql$": { target: server },
  // It takes requests of pages of its own origin.
  "^/session(/customer)?$": { target: server, changeOrigin: false },
};

export default defineConfig({
  plugins: [sizeBudget(), preloadedFonts(), compressed()],
  build: {
    // Monaco is one editor and arrives as one chunk; only the playground asks for it.
    chunkSizeWarningLimit: 4500,
    rolldownOptions: {
      input: ["index.html", "graphiql.html", "browse.html"],
      // "use client" in React libraries speaks to servers that render; there is none here.
      checks: { moduleLevelDirective: false },
      output: {
        codeSplitting: {
          // What every page needs comes in a few files, one of which changes with React alone. What the playground shares
          // with the pages is apart: it must not start them.
          groups: [
            { name: "react", test: /node_modules\/(react|react-dom|scheduler)\//, priority: 3 },
            {
              name: "requests",
              test: /vite\/preload-helper|node_modules\/@0no-co\/|src\/api\/(renewal|request|stored-session|user-kind)/,
              priority: 2,
            },
            { name: "costs", test: /src\/charges\/(shown-costs|CostSwitch|cost-switch)/, priority: 2 },
            {
              name: "frame",
              test: /src\/(app|ui|charges|not-found)\/|src\/api\/(client|cache|connection|errors|position|account-session|session)|node_modules\/(urql|@urql|wonka|wouter|graphql-ws)\//,
              priority: 1,
            },
          ],
        },
      },
    },
  },
  server: { proxy },
  preview: { proxy },
});
