import { Link, useSearchParams } from "wouter";
import { useSession } from "../api/session.js";
import { usePageTitle } from "../app/page-title.js";
import { Notice } from "../ui/Notice.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { ShopFrame } from "./ShopFrame.js";
import { StaffOnly } from "../account/StaffOnly.js";
import { StaffOrders } from "./StaffOrders.js";
import { StaffProducts } from "./StaffProducts.js";
import { StaffRename } from "./StaffRename.js";
import { useViewerIsStaff } from "../account/viewer-is-staff.js";

/** The tasks of staff, each with its name in the address. */
const TASKS = [
  { task: "products", name: "Products", Task: StaffProducts },
  { task: "orders", name: "Shipping", Task: StaffOrders },
  { task: "names", name: "Names", Task: StaffRename },
] as const;

/** Staff sell, price and ship products, and rename categories and tags. */
export default function StaffPage() {
  usePageTitle("Staff of the shop");
  const session = useSession();
  const isStaff = useViewerIsStaff();
  const [search] = useSearchParams();
  const { Task, task: chosen } = TASKS.find(({ task }) => task === search.get("task")) ?? TASKS[0];
  return (
    <ShopFrame>
      {session === null ? (
        <Notice heading="h1" kind="shop" title="Sign in as staff">
          <p>Use your blog account.</p>
          <Link className="button" href="/signin?next=%2Fshop%2Fstaff">
            Sign in
          </Link>
        </Notice>
      ) : isStaff === null ? (
        <SkeletonLines lines={4} />
      ) : !isStaff ? (
        <StaffOnly />
      ) : (
        <>
          <nav className="staff-tasks" aria-label="Tasks of staff">
            {TASKS.map(({ task, name }) => (
              <Link
                key={task}
                className="chip"
                href={`/shop/staff?task=${task}`}
                {...(task === chosen ? { "aria-current": "page" as const } : {})}
              >
                {name}
              </Link>
            ))}
          </nav>
          <Task />
        </>
      )}
    </ShopFrame>
  );
}
