import { useQuery } from "urql";
import { usePagePolicy } from "../api/embedded.js";
import { usePageTitle } from "../app/page-title.js";
import { NotFoundPage } from "../not-found/NotFoundPage.js";
import { PostCard } from "../post/PostCard.js";
import { Failure } from "../ui/Failure.js";
import { More } from "../ui/More.js";
import { Notice } from "../ui/Notice.js";
import { useShownPages } from "../ui/remembered.js";
import { SkeletonCards } from "../ui/Skeleton.js";
import "./feed.css";
import { TaggedPostsDocument } from "./tagged.generated.js";

/** Posts of one page. */
const PAGE_POSTS = 20;

/** The posts with a tag, newest first. */
export default function TagPage({ params: { tag = "" } }: { params: Readonly<Record<string, string | undefined>> }) {
  const name = decoded(tag)?.toLowerCase();
  return name === undefined ? <NotFoundPage /> : <Tagged tag={name} />;
}

function Tagged({ tag }: { tag: string }) {
  const [{ data, error }, readAgain] = useQuery({
    query: TaggedPostsDocument,
    variables: { tag, first: PAGE_POSTS },
    requestPolicy: usePagePolicy(),
  });
  const [pages, showMore] = useShownPages(`posts with ${tag}`);
  usePageTitle(`#${tag}`, `Posts about ${tag}.`);
  const posts = data?.postsByTag;
  if (posts == null) {
    if (error?.networkError !== undefined) {
      return <Failure error={error} onRetry={readAgain} />;
    }
    return data === undefined && error === undefined ? <SkeletonCards cards={4} /> : <NotFoundPage />;
  }
  return (
    <>
      <header className="feed-intro">
        <h1>
          <bdi>#{tag}</bdi>
        </h1>
      </header>
      {posts.nodes.length === 0 ? (
        <Notice title="No posts with this tag yet" />
      ) : (
        <div className="cards">
          <Posts tag={tag} pages={pages} onMore={showMore} />
        </div>
      )}
    </>
  );
}

/** One page of the list and the pages after it. */
function Posts({ tag, after, pages, onMore }: { tag: string; after?: string; pages: number; onMore: () => void }) {
  const [{ data, error }, readAgain] = useQuery({
    query: TaggedPostsDocument,
    variables: { tag, first: PAGE_POSTS, ...(after === undefined ? {} : { after }) },
  });
  const posts = data?.postsByTag;
  if (posts == null) {
    return error === undefined ? <SkeletonCards cards={3} /> : <Failure error={error} onRetry={readAgain} />;
  }
  const { nodes, pageInfo } = posts;
  return (
    <>
      {nodes.map((post) => (
        <PostCard key={post.id} post={post} />
      ))}
      {pageInfo.hasNextPage &&
        pageInfo.endCursor !== null &&
        (pages > 1 ? (
          <Posts tag={tag} after={pageInfo.endCursor} pages={pages - 1} onMore={onMore} />
        ) : (
          <More label="Show older posts" onMore={onMore} />
        ))}
    </>
  );
}

/** The tag in a path; undefined where it is not well encoded. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
