import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/soak/**/*.test.ts"],
    // SOAK_MINUTES says how long.
    testTimeout: 0,
    disableConsoleIntercept: true,
  },
});
