import "./typeface.css";
import "./tokens.css";
import "./base.css";
import "./print.css";
// Styles of the pages that the server writes, which are needed before the code of these pages.
import "../ui/picture.css";
import "../ui/avatar.css";
import "../ui/notice.css";
import "../feed/feed.css";
import "../post/post-card.css";
import "../post/post.css";
import "../markdown/markdown.css";
import "../profile/profile.css";
import "../shop/shop.css";
import "../shop/products.css";
import "../shop/checkout.css";
import "../shop/orders.css";
import "../shop/narrow.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App.js";
import { removeFormerDrafts } from "../ui/draft.js";
import { hasEmbedded } from "../api/embedded.js";
import { preloadRoute } from "./routes.js";

const container = document.querySelector("#app");
if (container === null) {
  throw new Error("The page has no #app.");
}
removeFormerDrafts();
const start = (): void => {
  createRoot(container).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
};
// The code of the opened page arrives while the frame is drawn. A page with a text stays as it is until then.
const isLoaded = preloadRoute(location.pathname);
if (hasEmbedded()) {
  void isLoaded.then(start);
} else {
  start();
}
