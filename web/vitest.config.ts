import { configDefaults, defineConfig } from "vitest/config";

/** Tests of modules that listen to the window as long as they are loaded. */
const listening = ["src/api/session.test.ts"];

export default defineConfig({
  test: {
    environment: "happy-dom",
    // A window for each file would take three quarters of the time.
    projects: [
      {
        extends: true,
        test: {
          name: "one window",
          include: ["src/**/*.test.{ts,tsx}"],
          exclude: [...configDefaults.exclude, ...listening],
          isolate: false,
        },
      },
      { extends: true, test: { name: "own window", include: listening } },
    ],
  },
});
