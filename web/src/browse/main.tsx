import "../app/typeface.css";
import "../app/tokens.css";
import "../app/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { BrowseApp } from "./BrowseApp.js";
import { takeKey } from "./operator-key.js";

const container = document.querySelector("#app");
if (container === null) {
  throw new Error("The page has no #app.");
}
createRoot(container).render(
  <StrictMode>
    <BrowseApp firstKey={takeKey()} />
  </StrictMode>,
);
