import "graphiql/setup-workers/vite";
import "graphiql/style.css";
import "./playground.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { readAccessToken, takeOverSession } from "./access-token.js";
import { introspect } from "./introspection.js";
import { Playground } from "./Playground.js";
import { readSample } from "./sample.js";

const container = document.querySelector("#playground");
if (container === null) {
  throw new Error("The page has no #playground.");
}
await takeOverSession();
const [sample, introspection] = await Promise.all([readSample(readAccessToken()), introspect(readAccessToken())]);
createRoot(container).render(
  <StrictMode>
    <Playground sample={sample} introspection={introspection} />
  </StrictMode>,
);
