import { useEffect, useEffectEvent } from "react";
import { useMutation } from "urql";
import { useLocation } from "wouter";
import { useHistoryState } from "wouter/use-browser-location";
import { codeOf, messageOf } from "../api/errors.js";
import { useSession } from "../api/session.js";
import { counted } from "../ui/count.js";
import { LikePostDocument, UnlikePostDocument } from "./like.generated.js";

/** State of the history entry: the post to like once its reader has signed in. A link cannot set it. */
interface LikeIntent {
  like?: string;
}

/**
 * Likes at once, and takes it back if the server refuses. A like that led to signing in is given afterwards.
 */
export function LikeButton({ post }: { post: { id: string; likeCount: number; viewerHasLiked: boolean } }) {
  const session = useSession();
  const [liking, like] = useMutation(LikePostDocument);
  const [unliking, unlike] = useMutation(UnlikePostDocument);
  const [pathname, navigate] = useLocation();
  const error = liking.error ?? unliking.error;
  const isBusy = liking.fetching || unliking.fetching;
  const intent = useHistoryState<LikeIntent | null>();
  const isIntended = session !== null && intent?.like === post.id;
  const likeAsIntended = useEffectEvent(() => {
    if ((history.state as LikeIntent | null)?.like !== post.id) {
      return;
    }
    navigate(pathname, { replace: true, state: null });
    if (!post.viewerHasLiked) {
      void like({ input: { postId: post.id } });
    }
  });
  useEffect(() => {
    if (isIntended) {
      likeAsIntended();
    }
  }, [isIntended]);
  const toggle = (): void => {
    if (session === null) {
      navigate(`/signin?next=${encodeURIComponent(pathname)}`, { state: { like: post.id } satisfies LikeIntent });
    } else if (!isBusy) {
      const input = { postId: post.id };
      void (post.viewerHasLiked ? unlike({ input }) : like({ input }));
    }
  };
  return (
    <div className="like">
      <button
        type="button"
        className="button button-plain"
        aria-pressed={post.viewerHasLiked}
        aria-disabled={isBusy}
        onClick={toggle}
      >
        <svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
          <path d="M12 20.5 4.2 12.9a5 5 0 0 1 7.1-7.1l.7.7.7-.7a5 5 0 0 1 7.1 7.1z" />
        </svg>
        {post.viewerHasLiked ? "Liked" : "Like"}
      </button>
      <span className="like-count" role="status">
        {counted(post.likeCount, "like")}
      </span>
      {error !== undefined && codeOf(error) !== "UNAUTHENTICATED" && (
        <span role="alert" className="field-error">
          {messageOf(error)}
        </span>
      )}
    </div>
  );
}
