import "./typeface.css";
import "./tokens.css";
import "./base.css";
import "./print.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App.js";
import { removeFormerDrafts } from "../ui/draft.js";
import { preloadRoute } from "./routes.js";

const container = document.querySelector("#app");
if (container === null) {
  throw new Error("The page has no #app.");
}
removeFormerDrafts();
// The code of the page that is opened arrives while the frame is drawn.
preloadRoute(location.pathname);
createRoot(container).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
