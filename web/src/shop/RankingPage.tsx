import { useQuery } from "urql";
import { Link } from "wouter";
import { codeOf } from "../api/errors.js";
import { useSession } from "../api/session.js";
import { usePageTitle } from "../app/page-title.js";
import { useCostsShown } from "../charges/shown-costs.js";
import { Failure } from "../ui/Failure.js";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { RankedCustomers } from "./RankedCustomers.js";
import { RankingDocument } from "./ranking.generated.js";
import { RankingCosts } from "./RankingCosts.js";
import { RANKED_CUSTOMERS } from "./ranking-limits.js";
import { ShopFrame } from "./ShopFrame.js";
import { StaffOnly } from "../account/StaffOnly.js";

/**
 * The customers with most orders, for staff. Where costs are shown, beside the same question across
 * partitions.
 */
export default function RankingPage() {
  usePageTitle("Top customers");
  const session = useSession();
  const areCostsShown = useCostsShown();
  return (
    <ShopFrame>
      {session === null || session.hasEnded ? (
        <Notice heading="h1" title="Sign in as staff">
          <p>Use your blog account.</p>
          <Link className="button" href="/signin?next=%2Fshop%2Franking">
            Sign in
          </Link>
        </Notice>
      ) : (
        <Ranking areCostsShown={areCostsShown} />
      )}
    </ShopFrame>
  );
}

function Ranking({ areCostsShown }: { areCostsShown: boolean }) {
  const [ranking, readAgain] = useQuery({
    query: RankingDocument,
    variables: { first: RANKED_CUSTOMERS },
    requestPolicy: "network-only",
  });
  if (ranking.error !== undefined && codeOf(ranking.error) === "FORBIDDEN") {
    return <StaffOnly />;
  }
  if (ranking.error !== undefined) {
    return <Failure error={ranking.error} onRetry={readAgain} />;
  }
  const customers = ranking.data?.topCustomers?.nodes;
  return (
    <>
      <header className="shop-intro">
        <h1>Customers with the most orders</h1>
      </header>
      {areCostsShown ? (
        <RankingCosts customers={customers} extensions={ranking.extensions} />
      ) : customers === undefined ? (
        <SkeletonLines lines={RANKED_CUSTOMERS} />
      ) : (
        <div className="ranking">
          <RankedCustomers customers={customers} />
        </div>
      )}
    </>
  );
}
