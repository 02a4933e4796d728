import { usePageTitle } from "../app/page-title.js";

export default function OperationsPage() {
  usePageTitle("Operations");
  return <h1>Operations</h1>;
}
