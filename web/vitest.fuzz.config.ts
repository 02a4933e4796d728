import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "happy-dom",
    include: ["tests/fuzz/**/*.test.{ts,tsx}"],
    // FUZZ_SECONDS says how long.
    testTimeout: 0,
    disableConsoleIntercept: true,
  },
});
