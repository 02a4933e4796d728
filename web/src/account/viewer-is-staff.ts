import { useQuery } from "urql";
import { useSession } from "../api/session.js";
import { ViewerIsStaffDocument } from "./viewer-is-staff.generated.js";

/** Whether the signed-in user of the blog is staff; null until the server has said so. */
export function useViewerIsStaff(): boolean | null {
  const isSignedIn = useSession()?.hasEnded === false;
  const [{ data, error }] = useQuery({ query: ViewerIsStaffDocument, pause: !isSignedIn });
  if (!isSignedIn) {
    return false;
  }
  return data?.viewerIsStaff ?? (error === undefined ? null : false);
}
