import { usePageTitle } from "../app/page-title.js";

export default function ComparePage() {
  usePageTitle("Compare");
  return <h1>Compare</h1>;
}
