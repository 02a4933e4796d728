import { Link } from "wouter";
import { usePageTitle } from "../app/page-title.js";
import { Notice } from "../ui/Notice.js";

/** The page for unknown paths and for deleted content. */
export function NotFoundPage({ what = "page" }: { what?: "page" | "post" | "user" | "product" | "category" | "tag" }) {
  usePageTitle(`No such ${what}`);
  const isOfShop = what === "product" || what === "category" || what === "tag";
  return (
    <Notice heading="h1" title={`There is no such ${what}`}>
      <p>{what === "page" ? "The address may be mistyped." : `The link may be mistyped, or the ${what} is gone.`}</p>
      <Link className="button" href={isOfShop ? "/shop" : "/"}>
        {isOfShop ? "See the catalogue" : "Read the newest posts"}
      </Link>
    </Notice>
  );
}
