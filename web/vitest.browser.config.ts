import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/{browser,http,live}/**/*.test.ts"],
    globalSetup: "tests/setup.ts",
    // Each worker has a server of its own: tests of a file share its data.
    maxWorkers: process.env.ONEHOP_URL ? 1 : 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
