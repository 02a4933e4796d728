import { useQuery } from "urql";
import { useSearchParams } from "wouter";
import { usePagePolicy } from "../api/embedded.js";
import { codeOf } from "../api/errors.js";
import { usePageTitle } from "../app/page-title.js";
import "../feed/feed.css";
import { PostCard } from "../post/PostCard.js";
import { Failure } from "../ui/Failure.js";
import { More } from "../ui/More.js";
import { Notice } from "../ui/Notice.js";
import { useShownPages } from "../ui/remembered.js";
import { SearchForm } from "../ui/SearchForm.js";
import { SkeletonCards } from "../ui/Skeleton.js";
import { SearchPostsDocument } from "./search.generated.js";

/** Posts of one page of a search. */
const PAGE_POSTS = 20;

/** A search over the titles of posts. */
export default function SearchPage() {
  const [search, setSearch] = useSearchParams();
  const words = search.get("q")?.trim() ?? "";
  usePageTitle(words === "" ? "Search" : `Search: ${words}`, "Search the titles of the posts.");
  return (
    <>
      <header className="feed-intro">
        <h1>Search</h1>
      </header>
      <SearchForm
        label="Words in the title"
        words={words}
        onSearch={(typed) => {
          setSearch({ q: typed });
        }}
      />
      {words !== "" && <Results key={words} words={words} />}
    </>
  );
}

function Results({ words }: { words: string }) {
  const [pages, showMore] = useShownPages(`search for ${words}`);
  return (
    <div className="cards">
      <PostResults words={words} pages={pages} isFirst onMore={showMore} />
    </div>
  );
}

/** One page of a search and the pages after it. */
function PostResults({
  words,
  after,
  pages,
  isFirst = false,
  onMore,
}: {
  words: string;
  after?: string;
  pages: number;
  isFirst?: boolean;
  onMore: () => void;
}) {
  const [{ data, error }, readAgain] = useQuery({
    query: SearchPostsDocument,
    variables: { query: words, first: PAGE_POSTS, ...(after === undefined ? {} : { after }) },
    requestPolicy: usePagePolicy(),
  });
  const found = data?.searchPosts;
  if (found == null) {
    if (codeOf(error) === "BAD_USER_INPUT") {
      return <Notice title="Type a word with a letter or a digit" />;
    }
    return error === undefined ? <SkeletonCards cards={3} /> : <Failure error={error} onRetry={readAgain} />;
  }
  const { nodes, pageInfo } = found;
  const goesOn = pageInfo.hasNextPage && pageInfo.endCursor !== null;
  return (
    <>
      {nodes.map((post) => (
        <PostCard key={post.id} post={post} />
      ))}
      {isFirst && nodes.length === 0 && (
        <Notice title={goesOn ? "No recent posts with these words" : "No posts with these words"}>
          {!goesOn && <p>Try fewer words, or the beginning of a word.</p>}
        </Notice>
      )}
      {goesOn &&
        pageInfo.endCursor !== null &&
        (pages > 1 ? (
          <PostResults words={words} after={pageInfo.endCursor} pages={pages - 1} onMore={onMore} />
        ) : (
          <More label="Search older posts" onMore={onMore} isEndless={false} />
        ))}
    </>
  );
}
