import { Link } from "wouter";
import { usePageTitle } from "../app/page-title.js";
import { Notice } from "../ui/Notice.js";

/** The page for unknown paths and for deleted content. */
export function NotFoundPage({ what = "page" }: { what?: "page" | "post" | "user" }) {
  usePageTitle(`No such ${what}`);
  return (
    <Notice heading="h1" title={`There is no such ${what}`}>
      <p>{what === "page" ? "The address may be mistyped." : `The link may be mistyped, or the ${what} is gone.`}</p>
      <Link className="button" href="/">
        Read the newest posts
      </Link>
    </Notice>
  );
}
