import { useMutation, useQuery, useSubscription } from "urql";
import { Link, useLocation } from "wouter";
import { useOnReconnect, useOnSubscriptionEnd } from "../api/connection.js";
import { usePagePolicy } from "../api/embedded.js";

import { usePageTitle } from "../app/page-title.js";
import { Markdown } from "../markdown/Markdown.js";
import { ReasonForm } from "../moderation/ReasonForm.js";
import { NotFoundPage } from "../not-found/NotFoundPage.js";
import { Avatar } from "../ui/Avatar.js";
import { Confirm } from "../ui/Confirm.js";
import { Failure } from "../ui/Failure.js";
import { FormError } from "../ui/FormError.js";
import { Picture } from "../ui/Picture.js";
import { SkeletonLines } from "../ui/Skeleton.js";
import { TagLinks } from "../ui/TagLinks.js";
import { When } from "../ui/When.js";
import { COMMENTS_OF_PAGE } from "./comment-limits.js";
import { Comments } from "./Comments.js";
import { CommentsAddedDocument, CommentsChangedDocument, CommentsDeletedDocument } from "./comments.generated.js";
import { LikeButton } from "./LikeButton.js";
import { DeletePostDocument, PostChangesDocument, PostPageDocument, type PostPageQuery } from "./post.generated.js";
import { postTagLinks } from "./post-tags.js";
import { readingTime } from "./reading-time.js";
import "./post.css";

export type ShownPost = NonNullable<PostPageQuery["post"]>;

/** A post with its likes and comments, as they are now. */
export default function PostPage({ params: { id = "" } }: { params: Readonly<Record<string, string | undefined>> }) {
  const [{ data, error }, readAgain] = useQuery({
    query: PostPageDocument,
    variables: { id, firstComments: COMMENTS_OF_PAGE },
    requestPolicy: usePagePolicy(),
  });
  const refresh = (): void => {
    readAgain({ requestPolicy: "network-only" });
  };
  useOnReconnect(refresh);
  const post = data?.post;
  usePageTitle(post?.title ?? null, post == null ? undefined : post.summary);
  if (post != null) {
    return <Post post={post} onEnded={refresh} />;
  }
  if (error?.networkError !== undefined) {
    return <Failure error={error} onRetry={refresh} />;
  }
  return data === undefined && error === undefined ? <SkeletonLines lines={10} /> : <NotFoundPage what="post" />;
}

function Post({ post, onEnded }: { post: ShownPost; onEnded: () => void }) {
  const { id, author } = post;
  useSubscription({ query: PostChangesDocument, variables: { id } });
  useSubscription({ query: CommentsAddedDocument, variables: { postId: id } });
  useSubscription({ query: CommentsChangedDocument, variables: { postId: id } });
  useSubscription({ query: CommentsDeletedDocument, variables: { postId: id } });
  // It ends when the post is deleted.
  useOnSubscriptionEnd((variables) => {
    if ((variables as { id?: string }).id === id) {
      onEnded();
    }
  });
  return (
    <>
      <article className="post">
        <header>
          <h1 dir="auto">{post.title}</h1>
          <div className="post-meta">
            <Avatar id={author.id} name={author.username} size="medium" />
            <p>
              <Link href={`/users/${author.id}`}>
                <bdi>{author.username}</bdi>
              </Link>
              <span>
                <When date={post.creationDate} />
                <span aria-hidden="true"> · </span>
                {readingTime(post.content)}
              </span>
            </p>
          </div>
          <TagLinks tags={postTagLinks(post.tags)} />
          <Picture of={id} className="post-cover" />
        </header>
        <Markdown text={post.content} />
        <footer className="post-actions">
          <LikeButton post={post} />
          {(post.viewerCanUpdate || post.viewerCanDelete) && <Own post={post} />}
        </footer>
      </article>
      <Comments post={post} />
    </>
  );
}

function Own({ post }: { post: ShownPost }) {
  const [{ fetching, error }, deletePost] = useMutation(DeletePostDocument);
  const [, navigate] = useLocation();
  return (
    <div className="post-own">
      {post.viewerCanUpdate && (
        <Link className="button button-plain" href={`/posts/${post.id}/edit`}>
          Edit
        </Link>
      )}
      {post.viewerCanDelete && !post.viewerCanUpdate && (
        <ReasonForm
          label="Remove post"
          question="Remove this post and its comments, as staff?"
          fetching={fetching}
          error={error}
          onSubmit={async (reason) => {
            const { data } = await deletePost({ input: { postId: post.id, reason } });
            if (data?.deletePost != null) {
              navigate(`/users/${post.author.id}`, { replace: true });
            }
            return data?.deletePost != null;
          }}
        />
      )}
      {post.viewerCanDelete && post.viewerCanUpdate && (
        <Confirm
          label="Delete"
          question="Delete this post and its comments?"
          isBusy={fetching}
          onConfirm={() => {
            void deletePost({ input: { postId: post.id } }).then((result) => {
              if (result.error === undefined) {
                navigate(`/users/${post.author.id}`, { replace: true });
              }
            });
          }}
        />
      )}
      {post.viewerCanUpdate && <FormError error={error} />}
    </div>
  );
}
