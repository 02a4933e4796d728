import { Link } from "wouter";
import { usePageTitle } from "../app/page-title.js";
import { Notice } from "../ui/Notice.js";

/** The page for unknown paths and for deleted content. */
export function NotFoundPage({ what = "page" }: { what?: "page" | "post" | "user" | "product" | "category" | "tag" }) {
  const title = `${what.charAt(0).toUpperCase()}${what.slice(1)} not found`;
  usePageTitle(title);
  const isOfShop = what === "product" || what === "category" || what === "tag";
  return (
    <Notice heading="h1" title={title} kind="missing">
      <p>
        {what === "page" ? "Check the address and try again." : `The link may be wrong, or the ${what} was deleted.`}
      </p>
      <p className="notice-ways">
        <Link className="button" href={isOfShop ? "/shop" : "/"}>
          {isOfShop ? "Browse the shop" : "Read the latest posts"}
        </Link>
        {what === "page" && (
          <Link className="button button-plain" href="/shop">
            Browse the shop
          </Link>
        )}
      </p>
    </Notice>
  );
}
