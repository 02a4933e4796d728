import { inject } from "vitest";

/** The server of this worker, whose data no other worker uses. */
export const workerUrl: string = ((): string => {
  const url = inject("onehopUrls")[Number(process.env.VITEST_POOL_ID) - 1];
  if (url === undefined) {
    throw new Error(`No server was started for worker ${String(process.env.VITEST_POOL_ID)}.`);
  }
  return url;
})();
