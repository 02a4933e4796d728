import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/{browser,http,live}/**/*.test.ts"],
    globalSetup: "tests/setup.ts",
    // One file at a time: the tests share a server and its data.
    fileParallelism: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
