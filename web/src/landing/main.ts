import type { DataModel } from "../api/graphql.js";
import { readFeed } from "./feed.js";
import { showFeed } from "./view.js";

const MODELS: readonly string[] = ["V1", "V2", "V3"] satisfies DataModel[];

const models = document.querySelector<HTMLFormElement>("#models");
let asking = new AbortController();

models?.addEventListener("change", () => void askForFeed());
models?.addEventListener("submit", (event) => {
  event.preventDefault();
});
void askForFeed();

/** Asks the chosen data model; a question still open is given up. */
async function askForFeed(): Promise<void> {
  asking.abort();
  asking = new AbortController();
  const { signal } = asking;
  const model = chosenModel();
  const retry = (): void => void askForFeed();

  showFeed(document, { kind: "asking", model }, retry);
  try {
    const page = await readFeed(model, signal);
    showFeed(document, { kind: "answered", model, page }, retry);
  } catch (error) {
    if (!signal.aborted) {
      const message = error instanceof Error ? error.message : String(error);
      showFeed(document, { kind: "failed", model, message }, retry);
    }
  }
}

/** The browser may bring back an earlier choice after a reload, so the form is asked each time. */
function chosenModel(): DataModel {
  const chosen = models === null ? null : new FormData(models).get("model");
  return typeof chosen === "string" && isModel(chosen) ? chosen : "V3";
}

function isModel(value: string): value is DataModel {
  return MODELS.includes(value);
}
