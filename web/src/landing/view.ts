/** What the landing page shows for each state of its question. Draws into the page and asks nothing. */
import type { DataModel } from "../api/graphql.js";
import { formatRequestCharge } from "../api/request-charge.js";
import { element } from "./element.js";
import type { FeedPage } from "./feed.js";
import { postCard } from "./post-card.js";

export type FeedState =
  | { kind: "asking"; model: DataModel }
  | { kind: "answered"; model: DataModel; page: FeedPage }
  | { kind: "failed"; model: DataModel; message: string };

/** Draws a state. `retry` is offered where the question failed. */
export function showFeed(root: ParentNode, state: FeedState, retry: () => void): void {
  const feed = required(root, "#feed");
  const body = required(root, "#feed-body");
  const status = required(root, "#status");

  feed.setAttribute("aria-busy", String(state.kind === "asking"));
  switch (state.kind) {
    case "asking":
      // The posts of the last answer stay until there are newer ones.
      status.textContent = `Asking ${state.model}…`;
      break;
    case "answered":
      status.textContent = answerInWords(state.model, state.page);
      body.replaceChildren(state.page.posts.length === 0 ? emptyFeed() : postList(state.page));
      showCharge(root, state.model, state.page.requestCharge);
      break;
    case "failed":
      status.textContent = `${state.model} gave no answer.`;
      body.replaceChildren(failure(state.message, retry));
      break;
  }
}

/** Writes a data model's request charge beside it, and draws all of them to one scale. */
function showCharge(root: ParentNode, model: DataModel, requestCharge: number | null): void {
  const output = required(root, `.model-charge[data-model="${model}"]`);
  output.textContent = formatRequestCharge(requestCharge);
  output.dataset.requestCharge = String(requestCharge ?? "");

  const outputs = [...root.querySelectorAll<HTMLElement>(".model-charge[data-model]")];
  const charges = outputs.map((each) => Number(each.dataset.requestCharge ?? 0));
  const highest = Math.max(...charges);
  outputs.forEach((each, index) => {
    const share = highest > 0 ? (charges[index] ?? 0) / highest : 0;
    each.closest<HTMLElement>(".model")?.style.setProperty("--share", String(share));
  });
}

function answerInWords(model: DataModel, { posts, requestCharge }: FeedPage): string {
  const count = `${posts.length} ${posts.length === 1 ? "post" : "posts"}`;
  const charge = requestCharge === null ? "an unknown charge" : formatRequestCharge(requestCharge);
  return `${model} answered with ${count} for ${charge}.`;
}

function postList({ posts }: FeedPage): HTMLElement {
  return element(
    "ol",
    { class: "posts" },
    posts.map((post) => element("li", {}, [postCard(post)])),
  );
}

function emptyFeed(): HTMLElement {
  return element("div", { class: "notice" }, [
    element("p", {}, ["No post has been written yet."]),
    element("p", {}, [
      "Sign up (C1) and write one (C2) in the ",
      element("a", { href: "/graphiql" }, ["playground"]),
      ", then read the feed again.",
    ]),
  ]);
}

function failure(message: string, retry: () => void): HTMLElement {
  const button = element("button", { type: "button", class: "button" }, ["Ask again"]);
  button.addEventListener("click", retry);
  return element("div", { class: "notice notice-failure", role: "alert" }, [
    element("p", {}, ["The feed could not be read."]),
    element("p", { class: "reason" }, [message]),
    button,
  ]);
}

function required(root: ParentNode, selector: string): HTMLElement {
  const found = root.querySelector<HTMLElement>(selector);
  if (found === null) {
    throw new Error(`The page has no ${selector}.`);
  }
  return found;
}
