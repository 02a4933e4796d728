import { Notice } from "../ui/Notice.js";

/** In place of a page of staff, for all other users. */
export function StaffOnly() {
  return (
    <Notice heading="h1" title="Only staff can see this page">
      <p>Ask an administrator for access.</p>
    </Notice>
  );
}
