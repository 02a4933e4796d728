import { useState } from "react";
import { useQuery, useSubscription } from "urql";
import { Link } from "wouter";
import { useOnReconnect } from "../api/connection.js";
import { usePagePolicy } from "../api/embedded.js";
import { usePageTitle } from "../app/page-title.js";
import { PostCard } from "../post/PostCard.js";
import type { PostCardFragment } from "../post/PostCard.generated.js";
import { counted } from "../ui/count.js";
import { Failure } from "../ui/Failure.js";
import { More } from "../ui/More.js";
import { Notice } from "../ui/Notice.js";
import { useShownPages } from "../ui/remembered.js";
import { SkeletonCards } from "../ui/Skeleton.js";
import "./feed.css";
import { FeedChangesDocument, FeedDocument, FeedRemovalsDocument, OlderPostsDocument } from "./feed.generated.js";
import { nothingNew, noticed, revealed, withoutPost } from "./new-posts.js";

/** Posts of one page of the feed. */
const PAGE_POSTS = 20;
/** The posts that come by scrolling. More come by the button, so that the end of the page is within reach. */
const SCROLLED_POSTS = 60;
/** The posts that the feed keeps. Older ones are read across partitions. */
const FEED_POSTS_MAX = 100;

/** The newest posts. News while one reads are announced, and appear when asked for. */
export default function FeedPage() {
  usePageTitle(null, "The latest posts of the blog.");
  const [news, setNews] = useState(nothingNew);
  const [pages, showMore] = useShownPages("feed");
  const [first, readAgain] = useQuery({
    query: FeedDocument,
    variables: { first: PAGE_POSTS },
    requestPolicy: usePagePolicy(),
  });
  const listed = first.data?.feed?.nodes;
  useSubscription({ query: FeedChangesDocument }, (_, event) => {
    setNews((known) => noticed(known, event.feedChanged, listed ?? []));
    return event;
  });
  useSubscription({ query: FeedRemovalsDocument }, (_, event) => {
    setNews((known) => withoutPost(known, event.feedPostRemoved.postId));
    return event;
  });
  useOnReconnect(() => {
    readAgain({ requestPolicy: "network-only" });
  });

  return (
    <>
      <header className="feed-intro">
        <h1>Latest posts</h1>
      </header>
      <div className="feed-news" role="status">
        {news.waiting.length > 0 && (
          <button
            type="button"
            className="button"
            onClick={() => {
              setNews(revealed);
              scrollTo({ top: 0 });
            }}
          >
            {counted(news.waiting.length, "new post")}
          </button>
        )}
      </div>
      {first.error !== undefined && listed === undefined ? (
        <Failure error={first.error} onRetry={readAgain} />
      ) : listed === undefined ? (
        <SkeletonCards cards={6} />
      ) : listed.length === 0 && news.shown.length === 0 ? (
        <Notice title="No posts yet">
          <p>Be the first to write one.</p>
          <Link className="button" href="/write">
            Write a post
          </Link>
        </Notice>
      ) : (
        <div className="cards feed-cards">
          <NewPosts posts={news.shown} listed={listed} />
          <FeedPosts pages={pages} waiting={news.waiting} onMore={showMore} />
        </div>
      )}
    </>
  );
}

function NewPosts({ posts, listed }: { posts: readonly PostCardFragment[]; listed: readonly PostCardFragment[] }) {
  return posts
    .filter(({ id }) => !listed.some((other) => other.id === id))
    .map((post) => <PostCard key={post.id} post={post} />);
}

/**
 * One page of the feed and the pages after it. The next begins where this one ends, also when this one
 * changes.
 */
function FeedPosts({
  after,
  before = 0,
  pages,
  waiting,
  onMore,
}: {
  after?: string;
  /** The posts of the pages before. */
  before?: number;
  pages: number;
  waiting: readonly PostCardFragment[];
  onMore: () => void;
}) {
  const [{ data, error }, readAgain] = useQuery({
    query: FeedDocument,
    variables: { first: PAGE_POSTS, ...(after === undefined ? {} : { after }) },
  });
  if (data?.feed == null) {
    return error === undefined ? <SkeletonCards cards={3} /> : <Failure error={error} onRetry={readAgain} />;
  }
  const { nodes, pageInfo } = data.feed;
  const count = before + nodes.length;
  const isFull = count >= FEED_POSTS_MAX && !pageInfo.hasNextPage;
  return (
    <>
      {nodes
        .filter(({ id }) => !waiting.some((other) => other.id === id))
        .map((post) => (
          <PostCard key={post.id} post={post} />
        ))}
      {pageInfo.endCursor === null || !(pageInfo.hasNextPage || isFull) ? (
        <p className="feed-end">You have reached the end.</p>
      ) : pages === 1 ? (
        <More label="Show older posts" onMore={onMore} isEndless={count < SCROLLED_POSTS} />
      ) : isFull ? (
        <OlderPosts after={pageInfo.endCursor} pages={pages - 1} onMore={onMore} />
      ) : (
        <FeedPosts after={pageInfo.endCursor} before={count} pages={pages - 1} waiting={waiting} onMore={onMore} />
      )}
    </>
  );
}

/** One page of the posts behind the feed and the pages after it. */
function OlderPosts({ after, pages, onMore }: { after: string; pages: number; onMore: () => void }) {
  const [{ data, error }, readAgain] = useQuery({ query: OlderPostsDocument, variables: { first: PAGE_POSTS, after } });
  if (data?.feed == null) {
    return error === undefined ? <SkeletonCards cards={3} /> : <Failure error={error} onRetry={readAgain} />;
  }
  const { nodes, pageInfo } = data.feed;
  return (
    <>
      {nodes.map((post) => (
        <PostCard key={post.id} post={post} />
      ))}
      {!pageInfo.hasNextPage || pageInfo.endCursor === null ? (
        <p className="feed-end">You have reached the first post.</p>
      ) : pages > 1 ? (
        <OlderPosts after={pageInfo.endCursor} pages={pages - 1} onMore={onMore} />
      ) : (
        <More label="Show older posts" onMore={onMore} isEndless={false} />
      )}
    </>
  );
}
